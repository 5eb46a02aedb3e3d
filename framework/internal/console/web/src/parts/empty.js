import { html } from "../html.js";

// Empty stands where nothing is, and says how something comes there.
export const Empty = ({ title, help, children }) => html`<section class="empty"><h2>${title}</h2>${help && html`<p>${help}</p>`}${children}</section>`;
