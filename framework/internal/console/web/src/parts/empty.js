import { html } from "../html.js";

// Empty stands where nothing is, and says how something comes there. whole: it is all that the page shows.
export const Empty = ({ title, help, whole, children }) => html`<section class="empty">${whole ? html`<h1>${title}</h1>` : html`<h2>${title}</h2>`}${help && html`<p>${help}</p>`}${children}</section>`;
