"""A chart: how many verdicts there are of each kind."""

import altair as alt

import howlearn as hl


@hl.plot.chart("How many toys are there?", "selection", section="sure")
def toy_chart(source):
    """Verdicts of all criteria."""
    frame = hl.plot.results_of(source).table("selection")
    bars = alt.Chart(alt.Data(values=frame.select("verdict").to_dicts())).mark_bar()
    counted = bars.encode(x="verdict:N", y="count():Q")
    return counted.properties(title="How many toys are there?")
