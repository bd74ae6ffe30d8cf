// Starts the page: theme, fonts, the one component that holds everything.
import "@fontsource-variable/inter/wght.css";
import "@fontsource-variable/jetbrains-mono/wght.css";
import "./style/tokens.css";
import "./style/base.css";
import "./style/cards.css";
import { mount } from "svelte";
import App from "./view/App.svelte";

const root = document.documentElement;
const theme = new URLSearchParams(location.search).get("theme");
if (theme === "light" || theme === "dark") root.dataset["theme"] = theme;
// Linux desktops differ widely in their system font, so ours come first there, and only there.
if (/Linux/.test(navigator.userAgent)) root.dataset["os"] = "linux";

const target = document.getElementById("app");
if (target) mount(App, { target });
