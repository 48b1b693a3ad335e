// Colours, the copy button, where one is in the page; then everything is drawn.
function startTheme() {
  const button = document.getElementById("theme");
  const names = ["auto", "light", "dark"];
  const remembered = () => {
    try {
      return localStorage.getItem("howlearn-colours");
    } catch {
      return null; // some browsers keep nothing for files
    }
  };
  const wear = (name) => {
    if (name === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = name;
    button.querySelector("span").textContent = name;
    button.setAttribute("aria-label", `Colours: ${name === "auto" ? "as the system" : name}`);
  };
  let now = names.includes(remembered()) ? remembered() : "auto";
  wear(now);
  button.hidden = false;
  button.addEventListener("click", () => {
    now = names[(names.indexOf(now) + 1) % names.length];
    wear(now);
    try {
      localStorage.setItem("howlearn-colours", now);
    } catch {
      // then it is forgotten
    }
  });
}

function startCopy() {
  const button = document.getElementById("copy");
  if (!button) return;
  button.addEventListener("click", async () => {
    const text = document.getElementById("methods-text");
    let done = false;
    try {
      await navigator.clipboard.writeText(text.innerText);
      done = true;
    } catch {
      window.getSelection().selectAllChildren(text);
      done = document.execCommand("copy");
    }
    document.getElementById("copied").textContent = done ? "Copied." : "Selected: copy it with the keyboard.";
  });
}

function startContents() {
  const links = new Map([...document.querySelectorAll(".contents a")].map((link) => [link.hash.slice(1), link]));
  const seen = new IntersectionObserver(
    (entries) =>
      entries.forEach((entry) => {
        if (!entry.isIntersecting) return;
        links.forEach((link) => link.removeAttribute("aria-current"));
        links.get(entry.target.id)?.setAttribute("aria-current", "true");
      }),
    { rootMargin: "-10% 0px -80% 0px" },
  );
  document.querySelectorAll("main > section").forEach((section) => seen.observe(section));
}

startTheme();
startCopy();
startContents();
document.querySelectorAll(".dot[data-model]").forEach((each) => {
  const place = people.models.indexOf(each.dataset.model);
  each.style.background = content.colours[place] ?? "transparent";
});
document.addEventListener("keydown", closeMenus);
document.addEventListener("click", closeMenus);
startTable();
startPanel();
drawFigures().then(() => (document.documentElement.dataset.drawn = "yes"));
