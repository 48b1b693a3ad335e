"""What a methods paragraph may cite, in APA style; only what is cited gets into the list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

SOFTWARE = "howlearn"


@dataclass(frozen=True)
class Reference:
    """A work: how it is cited in brackets, and its entry, where *…* stands in italics."""

    cited: str
    marked: str

    @property
    def text(self) -> str:
        """The entry without marks."""
        return "".join(part for part, _ in self.pieces)

    @property
    def pieces(self) -> tuple[tuple[str, bool], ...]:
        """The entry in parts, each with whether it is in italics.

        >>> Reference("A, 1974", "A. (1974). *B*.").pieces
        (('A. (1974). ', False), ('B', True), ('.', False))
        """
        parts = enumerate(self.marked.split("*"))
        return tuple((part, i % 2 == 1) for i, part in parts if part)


class Citing:
    """Gives citations and remembers what was cited."""

    def __init__(self, version: str) -> None:
        self.known: Mapping[str, Reference] = {**WORKS, SOFTWARE: _software(version)}
        self.cited: set[str] = set()

    def __call__(self, *names: str, before: str = "") -> str:
        """The works in brackets, in alphabetical order.

        >>> Citing("1.0")("schwarz1978", "akaike1974")
        '(Akaike, 1974; Schwarz, 1978)'
        """
        self.cited.update(names)
        return f"({before}{'; '.join(sorted(self.known[name].cited for name in names))})"

    @property
    def references(self) -> tuple[Reference, ...]:
        """What was cited, in alphabetical order."""
        found = (self.known[name] for name in self.cited)
        return tuple(sorted(found, key=lambda work: work.marked.replace("*", "").casefold()))


def _software(version: str) -> Reference:
    return Reference(
        "The howlearn developers, n.d.",
        f"The howlearn developers. (n.d.). *howlearn* (Version {version}) [Computer software].",
    )


WORKS: dict[str, Reference] = {
    "akaike1974": Reference(
        "Akaike, 1974",
        "Akaike, H. (1974). A new look at the statistical model identification. *IEEE Transactions "
        "on Automatic Control*, *19*(6), 716–723. https://doi.org/10.1109/TAC.1974.1100705",
    ),
    "aubert2025": Reference(
        "Aubert et al., 2025",
        "Aubert, J., Köhler, L., Lehéricy, L., Mezzadri, G., & Reynaud-Bouret, P. (2025). Model "
        "selection for behavioral learning data and applications to contextual bandits. "
        "*Proceedings of the 28th International Conference on Artificial Intelligence and "
        "Statistics*, *258*, 1126–1134. https://proceedings.mlr.press/v258/aubert25a.html",
    ),
    "auer2002": Reference(
        "Auer et al., 2002",
        "Auer, P., Cesa-Bianchi, N., Freund, Y., & Schapire, R. E. (2002). The nonstochastic "
        "multiarmed bandit problem. *SIAM Journal on Computing*, *32*(1), 48–77. "
        "https://doi.org/10.1137/S0097539701398375",
    ),
    "dawid1984": Reference(
        "Dawid, 1984",
        "Dawid, A. P. (1984). Present position and potential developments: Some personal views: "
        "Statistical theory: The prequential approach. *Journal of the Royal Statistical Society: "
        "Series A (General)*, *147*(2), 278–292. https://doi.org/10.2307/2981683",
    ),
    "ewens1972": Reference(
        "Ewens, 1972",
        "Ewens, W. J. (1972). The sampling theory of selectively neutral alleles. *Theoretical "
        "Population Biology*, *3*(1), 87–112. https://doi.org/10.1016/0040-5809(72)90035-4",
    ),
    "frank2007": Reference(
        "Frank et al., 2007",
        "Frank, M. J., Moustafa, A. A., Haughey, H. M., Curran, T., & Hutchison, K. E. (2007). "
        "Genetic triple dissociation reveals multiple roles for dopamine in reinforcement "
        "learning. *Proceedings of the National Academy of Sciences*, *104*(41), 16311–16316. "
        "https://doi.org/10.1073/pnas.0706111104",
    ),
    "gluck1988": Reference(
        "Gluck & Bower, 1988",
        "Gluck, M. A., & Bower, G. H. (1988). Evaluating an adaptive network model of human "
        "learning. *Journal of Memory and Language*, *27*(2), 166–195. "
        "https://doi.org/10.1016/0749-596X(88)90072-1",
    ),
    "ito2009": Reference(
        "Ito & Doya, 2009",
        "Ito, M., & Doya, K. (2009). Validation of decision-making models and analysis of decision "
        "variables in the rat basal ganglia. *Journal of Neuroscience*, *29*(31), 9861–9874. "
        "https://doi.org/10.1523/JNEUROSCI.6157-08.2009",
    ),
    "james2023": Reference(
        "James et al., 2023",
        "James, A., Reynaud-Bouret, P., Mezzadri, G., Sargolini, F., Bethus, I., & Muzy, A. "
        "(2023). Strategy inference during learning via cognitive activity-based credit assignment "
        "models. *Scientific Reports*, *13*, Article 9408. https://doi.org/10.1038/s41598-023-33604-2",
    ),
    "kruschke1992": Reference(
        "Kruschke, 1992",
        "Kruschke, J. K. (1992). ALCOVE: An exemplar-based connectionist model of category "
        "learning. *Psychological Review*, *99*(1), 22–44. "
        "https://doi.org/10.1037/0033-295X.99.1.22",
    ),
    "neu2015": Reference(
        "Neu, 2015",
        "Neu, G. (2015). Explore no more: Improved high-probability regret bounds for "
        "non-stochastic bandits. *Advances in Neural Information Processing Systems*, *28*, "
        "3168–3176.",
    ),
    "ninomiya2015": Reference(
        "Ninomiya, 2015",
        "Ninomiya, Y. (2015). Change-point model selection via AIC. *Annals of the Institute of "
        "Statistical Mathematics*, *67*(5), 943–961. https://doi.org/10.1007/s10463-014-0481-x",
    ),
    "nosofsky1986": Reference(
        "Nosofsky, 1986",
        "Nosofsky, R. M. (1986). Attention, similarity, and the identification–categorization "
        "relationship. *Journal of Experimental Psychology: General*, *115*(1), 39–57. "
        "https://doi.org/10.1037/0096-3445.115.1.39",
    ),
    "nowak1993": Reference(
        "Nowak & Sigmund, 1993",
        "Nowak, M., & Sigmund, K. (1993). A strategy of win-stay, lose-shift that outperforms "
        "tit-for-tat in the Prisoner's Dilemma game. *Nature*, *364*(6432), 56–58. "
        "https://doi.org/10.1038/364056a0",
    ),
    "rescorla1972": Reference(
        "Rescorla & Wagner, 1972",
        "Rescorla, R. A., & Wagner, A. R. (1972). A theory of Pavlovian conditioning: Variations "
        "in the effectiveness of reinforcement and nonreinforcement. In A. H. Black & W. F. "
        "Prokasy (Eds.), *Classical conditioning II: Current research and theory* (pp. 64–99). "
        "Appleton-Century-Crofts.",
    ),
    "rigoux2014": Reference(
        "Rigoux et al., 2014",
        "Rigoux, L., Stephan, K. E., Friston, K. J., & Daunizeau, J. (2014). Bayesian model "
        "selection for group studies—Revisited. *NeuroImage*, *84*, 971–985. "
        "https://doi.org/10.1016/j.neuroimage.2013.08.065",
    ),
    "schonberg2007": Reference(
        "Schönberg et al., 2007",
        "Schönberg, T., Daw, N. D., Joel, D., & O'Doherty, J. P. (2007). Reinforcement learning "
        "signals in the human striatum distinguish learners from nonlearners during reward-based "
        "decision making. *Journal of Neuroscience*, *27*(47), 12860–12867. "
        "https://doi.org/10.1523/JNEUROSCI.2496-07.2007",
    ),
    "schwarz1978": Reference(
        "Schwarz, 1978",
        "Schwarz, G. (1978). Estimating the dimension of a model. *The Annals of Statistics*, "
        "*6*(2), 461–464. https://doi.org/10.1214/aos/1176344136",
    ),
    "stephan2009": Reference(
        "Stephan et al., 2009",
        "Stephan, K. E., Penny, W. D., Daunizeau, J., Moran, R. J., & Friston, K. J. (2009). "
        "Bayesian model selection for group studies. *NeuroImage*, *46*(4), 1004–1017. "
        "https://doi.org/10.1016/j.neuroimage.2009.03.025",
    ),
    "sutton2018": Reference(
        "Sutton & Barto, 2018",
        "Sutton, R. S., & Barto, A. G. (2018). *Reinforcement learning: An introduction* (2nd "
        "ed.). MIT Press.",
    ),
    "wichmann2001": Reference(
        "Wichmann & Hill, 2001",
        "Wichmann, F. A., & Hill, N. J. (2001). The psychometric function: I. Fitting, sampling, "
        "and goodness of fit. *Perception & Psychophysics*, *63*(8), 1293–1313. "
        "https://doi.org/10.3758/BF03194544",
    ),
    "wilson2019": Reference(
        "Wilson & Collins, 2019",
        "Wilson, R. C., & Collins, A. G. E. (2019). Ten simple rules for the computational "
        "modeling of behavioral data. *eLife*, *8*, Article e49547. https://doi.org/10.7554/eLife.49547",
    ),
}
