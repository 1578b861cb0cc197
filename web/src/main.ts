import "./app.css";
import { mount } from "svelte";
import App from "./App.svelte";
import { language } from "./lib/i18n/index.svelte";
import { theme } from "./lib/theme.svelte";

language.restore();
theme.start();
mount(App, { target: document.getElementById("app")! });
