// The one place that names the libraries of the page.
import { h, render, Fragment } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { signal, computed, effect, batch, useSignal, useComputed, useSignalEffect } from "@preact/signals";
import htm from "htm";

export const html = htm.bind(h);
export { render, Fragment, useEffect, useLayoutEffect, useMemo, useRef, signal, computed, effect, batch, useSignal, useComputed, useSignalEffect };
