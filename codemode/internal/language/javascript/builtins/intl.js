// Intl for English, and what is written in its terms: toLocaleString and
// localeCompare.
(function (host) {
  "use strict";
  const known = ["en-US", "en-GB", "en-CA"];
  // tag matches language tags of BCP 47.
  const tag = /^([a-z]{2,3}|[a-z]{5,8})(-[a-z]{4})?(-([a-z]{2}|[0-9]{3}))?(-([a-z0-9]{5,8}|[0-9][a-z0-9]{3}))*(-[0-9a-wyz](-[a-z0-9]{2,8})+)*(-x(-[a-z0-9]{1,8})+)?$/i;
  // tags are the locales that are asked for.
  const tags = (asked) => {
    if (asked === null) throw new TypeError("Cannot convert undefined or null to object");
    const list = asked === undefined ? [] : typeof asked === "string" ? [asked] : Array.isArray(asked) ? asked : [];
    for (const name of list) {
      if (typeof name !== "string") throw new TypeError("Incorrect locale information provided");
      if (!tag.test(name)) throw new RangeError("Incorrect locale information provided: " + name);
    }
    return list;
  };
  // find gives the locale that is there for a tag, nothing for another one.
  const find = (name) => {
    const plain = name.toLowerCase().replace(/^en-latn\b/, "en");
    return plain === "en" ? "en-US" : known.find((locale) => locale.toLowerCase() === plain);
  };
  // resolve gives the first locale that is there of those that are asked for. Numbers, dates and words
  // are not written as in another country. To sort, any other locale is as en-US, with a word in the logs.
  const resolve = (asked, sorts) => {
    const list = tags(asked), found = list.map(find).find((locale) => locale);
    if (found || list.length === 0) return found || "en-US";
    const missing = "the locale " + list[0] + " is not available here: ";
    if (!sorts) throw new RangeError(missing + "there are " + known.join(", "));
    host.warn(missing + "the order is that of en-US (there are " + known.join(", ") + ")");
    return "en-US";
  };
  const pick = (options, name, allowed, otherwise) => {
    const v = options[name];
    if (v === undefined) return otherwise;
    const text = String(v);
    if (!allowed.includes(text)) throw new RangeError("Value " + text + " out of range for the option " + name);
    return text;
  };
  const digits = (options, name, min, max, otherwise) => {
    const v = options[name];
    if (v === undefined) return otherwise;
    const n = Number(v);
    if (!(n >= min && n <= max)) throw new RangeError(name + " value is out of range");
    return Math.floor(n);
  };
  const supported = (locales) => tags(locales).filter(find);
  // standard refuses other digits and calendars.
  const standard = (options) => {
    for (const [name, value] of [["numberingSystem", "latn"], ["calendar", "gregory"]]) {
      if (options[name] !== undefined && options[name] !== value) throw new RangeError("the " + name + " " + options[name] + " is not available here: there is " + value);
    }
  };
  // callable lets a class be called without new, as Intl's older ones can be.
  const callable = (type) => {
    const either = function (...args) { return new type(...args); };
    Object.defineProperties(either, {
      name: { value: type.name, configurable: true }, prototype: { value: type.prototype, writable: false },
      supportedLocalesOf: { value: type.supportedLocalesOf, writable: true, configurable: true },
    });
    Object.defineProperty(type.prototype, "constructor", { value: either, writable: true, configurable: true });
    return either;
  };

  const currencies = { USD: "$", EUR: "€", GBP: "£", JPY: "¥", INR: "₹", CNY: "CN¥", KRW: "₩", BRL: "R$", CAD: "CA$", AUD: "A$", MXN: "MX$", NZD: "NZ$", ILS: "₪", VND: "₫", TWD: "NT$", HKD: "HK$", PHP: "₱" };
  const narrow = { CAD: "$", AUD: "$", MXN: "$", NZD: "$", HKD: "$", TWD: "$", CNY: "¥", SEK: "kr", NOK: "kr", DKK: "kr", PLN: "zł", RUB: "₽", TRY: "₺", UAH: "₴", THB: "฿" };
  const currencyNames = { USD: ["US dollar", "US dollars"], EUR: ["euro", "euros"], GBP: ["British pound", "British pounds"], JPY: ["Japanese yen", "Japanese yen"], CHF: ["Swiss franc", "Swiss francs"] };
  const noCents = ["JPY", "KRW", "VND", "CLP", "ISK", "PYG", "UGX", "XAF", "XOF", "XPF"];
  const units = {
    kilometer: ["km", "kilometer"], meter: ["m", "meter"], centimeter: ["cm", "centimeter"], millimeter: ["mm", "millimeter"], mile: ["mi", "mile"], foot: ["ft", "foot", "feet"], inch: ["in", "inch", "inches"],
    kilogram: ["kg", "kilogram"], gram: ["g", "gram"], pound: ["lb", "pound"], ounce: ["oz", "ounce"], liter: ["L", "liter"], milliliter: ["mL", "milliliter"],
    second: ["sec", "second"], minute: ["min", "minute"], hour: ["hr", "hour"], day: ["day", "day"], week: ["wk", "week"], month: ["mth", "month"], year: ["yr", "year"], millisecond: ["ms", "millisecond"],
    byte: ["byte", "byte"], kilobyte: ["kB", "kilobyte"], megabyte: ["MB", "megabyte"], gigabyte: ["GB", "gigabyte"], terabyte: ["TB", "terabyte"], percent: ["%", "percent"], celsius: ["°C", "degree Celsius"], fahrenheit: ["°F", "degree Fahrenheit"],
  };
  const fixed = ["sec", "min", "hr", "day", "wk", "mth", "yr"];

  const significant = (x, min, max) => {
    if (x === 0) return min > 1 ? "0." + "0".repeat(min - 1) : "0";
    const [mantissa, exponent] = x.toExponential(max - 1).split("e");
    const e = Number(exponent);
    let all = mantissa.replace(".", "");
    while (all.length > min && all.length > e + 1 && all.endsWith("0")) all = all.slice(0, -1);
    if (e < 0) return "0." + "0".repeat(-e - 1) + all;
    if (all.length <= e + 1) return all + "0".repeat(e + 1 - all.length);
    return all.slice(0, e + 1) + "." + all.slice(e + 1);
  };
  const decimal = (x, min, max) => {
    let text = x < 1e21 ? x.toFixed(max) : BigInt(x).toString() + (max > 0 ? "." + "0".repeat(max) : "");
    if (max > min && text.includes(".")) {
      let end = text.length;
      const least = text.indexOf(".") + 1 + min;
      while (end > least && text[end - 1] === "0") end--;
      text = text.slice(0, end).replace(/\.$/, "");
    }
    return text;
  };

  class NumberFormat {
    #o;
    constructor(locales, options = {}) {
      const o = { locale: resolve(locales), numberingSystem: "latn" };
      options = Object(options);
      standard(options);
      o.style = pick(options, "style", ["decimal", "percent", "currency", "unit"], "decimal");
      if (options.currency !== undefined && !/^[A-Za-z]{3}$/.test(String(options.currency))) throw new RangeError("Invalid currency code : " + String(options.currency));
      if (o.style === "currency") {
        if (options.currency === undefined) throw new TypeError("Currency code is required with currency style.");
        o.currency = String(options.currency).toUpperCase();
        o.currencyDisplay = pick(options, "currencyDisplay", ["symbol", "narrowSymbol", "code", "name"], "symbol");
        o.currencySign = pick(options, "currencySign", ["standard", "accounting"], "standard");
      }
      if (o.style === "unit") {
        if (options.unit === undefined) throw new TypeError("Unit is required with unit style.");
        o.unit = String(options.unit);
        for (const part of o.unit.split("-per-")) if (!units[part]) throw new RangeError("the unit " + part + " is not available here");
        o.unitDisplay = pick(options, "unitDisplay", ["short", "narrow", "long"], "short");
      }
      o.notation = pick(options, "notation", ["standard", "scientific", "engineering", "compact"], "standard");
      if (o.notation === "compact") o.compactDisplay = pick(options, "compactDisplay", ["short", "long"], "short");
      o.signDisplay = pick(options, "signDisplay", ["auto", "always", "never", "exceptZero", "negative"], "auto");
      const grouping = options.useGrouping;
      o.useGrouping = grouping === undefined ? (o.notation === "compact" ? "min2" : "auto") : grouping === false || grouping === "false" ? false : grouping === true ? "always" : pick(options, "useGrouping", ["min2", "auto", "always", "true"], "auto");
      o.minimumIntegerDigits = digits(options, "minimumIntegerDigits", 1, 21, 1);
      const cents = o.style === "currency" && o.notation === "standard" ? (noCents.includes(o.currency) ? 0 : 2) : 0;
      const most = o.style === "currency" ? cents : o.style === "percent" ? 0 : 3;
      if (options.minimumSignificantDigits !== undefined || options.maximumSignificantDigits !== undefined) {
        o.minimumSignificantDigits = digits(options, "minimumSignificantDigits", 1, 21, 1);
        o.maximumSignificantDigits = digits(options, "maximumSignificantDigits", o.minimumSignificantDigits, 21, 21);
      } else {
        const min = digits(options, "minimumFractionDigits", 0, 100, undefined);
        const max = digits(options, "maximumFractionDigits", 0, 100, undefined);
        if (o.notation === "compact" && min === undefined && max === undefined) o.compactRounding = true;
        if (min !== undefined && max !== undefined && min > max) throw new RangeError("maximumFractionDigits value is out of range.");
        o.minimumFractionDigits = min !== undefined ? min : max !== undefined ? Math.min(cents, max) : cents;
        o.maximumFractionDigits = max !== undefined ? max : Math.max(o.minimumFractionDigits, o.compactRounding ? 0 : most);
      }
      this.#o = o;
      this.format = (v) => this.formatToParts(v).map((p) => p.value).join("");
      Object.defineProperty(this, "format", { enumerable: false });
    }
    #digits(x) {
      const o = this.#o;
      if (o.maximumSignificantDigits !== undefined) return significant(x, o.minimumSignificantDigits, o.maximumSignificantDigits);
      if (o.compactRounding) return x < 100 ? significant(x, 1, 2) : decimal(x, 0, 0);
      return decimal(x, o.minimumFractionDigits, o.maximumFractionDigits);
    }
    formatToParts(value) {
      const o = this.#o;
      const big = typeof value === "bigint";
      let x = big ? value : Number(value);
      const negative = big ? x < 0n : x < 0 || Object.is(x, -0);
      if (negative) x = -x;
      const body = [];
      let zero = false, one = false;
      const push = (type, v) => { if (v !== "") body.push({ type, value: v }); };
      if (!big && Number.isNaN(x)) push("nan", "NaN");
      else if (x === Infinity) push("infinity", "∞");
      else {
        if (o.style === "percent") x = big ? x * 100n : Number(decimal(x, 0, 15).replace(".", "")) === 0 ? 0 : Number((x.toString().includes("e") ? x * 100 : shift(x, 2)));
        let exponent = 0, suffix = "";
        if (o.notation !== "standard") {
          x = Number(x);
          exponent = x === 0 ? 0 : Number(x.toExponential().split("e")[1]);
          if (o.notation !== "scientific") exponent = Math.floor(exponent / 3) * 3;
          if (o.notation === "compact") exponent = Math.max(0, Math.min(exponent, 12));
          let scaled = Number(shift(x, -exponent));
          if (o.notation === "compact" && exponent < 12 && Number(this.#digits(scaled)) >= 1000) { exponent += 3; scaled = Number(shift(x, -exponent)); }
          if (o.notation === "compact") suffix = (o.compactDisplay === "short" ? ["", "K", "M", "B", "T"] : ["", " thousand", " million", " billion", " trillion"])[exponent / 3];
          x = scaled;
        }
        const text = typeof x === "bigint" ? x.toString() + (o.minimumFractionDigits > 0 ? "." + "0".repeat(o.minimumFractionDigits) : "") : this.#digits(x);
        zero = !/[1-9]/.test(text);
        one = text === "1" && suffix === "";
        let [whole, fraction = ""] = text.split(".");
        whole = whole.padStart(o.minimumIntegerDigits, "0");
        if (o.useGrouping && (o.useGrouping !== "min2" || whole.length > 4)) {
          const first = whole.length % 3 || 3;
          push("integer", whole.slice(0, first));
          for (let i = first; i < whole.length; i += 3) { push("group", ","); push("integer", whole.slice(i, i + 3)); }
        } else push("integer", whole);
        if (fraction) { push("decimal", "."); push("fraction", fraction); }
        if (o.notation === "scientific" || o.notation === "engineering") {
          push("exponentSeparator", "E");
          if (exponent < 0) push("exponentMinusSign", "-");
          push("exponentInteger", String(Math.abs(exponent)));
        }
        if (suffix.startsWith(" ")) { push("literal", " "); push("compact", suffix.slice(1)); } else push("compact", suffix);
      }
      const sign = o.signDisplay === "never" ? "" : o.signDisplay === "always" ? (negative ? "-" : "+")
        : o.signDisplay === "exceptZero" ? (zero ? "" : negative ? "-" : "+") : o.signDisplay === "negative" && zero ? "" : negative ? "-" : "";
      return this.#affixes(body, sign, one);
    }
    #affixes(body, sign, one) {
      const o = this.#o;
      const signs = sign === "" ? [] : [{ type: sign === "-" ? "minusSign" : "plusSign", value: sign }];
      if (o.style === "percent") return [...signs, ...body, { type: "percentSign", value: "%" }];
      if (o.style === "unit") {
        const [first, per] = o.unit.split("-per-");
        const name = (u, alone) => o.unitDisplay === "long" ? (alone ? units[u][1] : units[u][2] || units[u][1] + "s").replace("degree Celsiuss", "degrees Celsius").replace("degree Fahrenheits", "degrees Fahrenheit").replace("percents", "percent")
          : o.unitDisplay === "short" && fixed.includes(units[u][0]) && !alone && ["day", "wk", "mth", "yr"].includes(units[u][0]) ? units[u][0] + "s" : o.unitDisplay === "short" && units[u][0] === "byte" ? "byte" : units[u][0];
        const text = per ? (o.unitDisplay === "long" ? name(first, one) + " per " + units[per][1] : units[first][0] + "/" + (per === "hour" ? "h" : per === "second" ? "s" : units[per][0])) : name(first, one);
        const tight = o.unitDisplay === "narrow" || text === "%" || text.startsWith("°");
        return [...signs, ...body, ...(tight ? [] : [{ type: "literal", value: " " }]), { type: "unit", value: text }];
      }
      if (o.style !== "currency") return [...signs, ...body];
      if (o.currencyDisplay === "name") {
        const names = currencyNames[o.currency] || [o.currency, o.currency];
        return [...signs, ...body, { type: "literal", value: " " }, { type: "currency", value: names[one ? 0 : 1] }];
      }
      let symbol = currencies[o.currency] || o.currency;
      if (o.currencyDisplay === "narrowSymbol") symbol = narrow[o.currency] || symbol;
      if (o.locale === "en-CA" && o.currency === "CAD") symbol = "$";
      if (o.locale !== "en-US" && o.currency === "USD" && o.currencyDisplay === "symbol") symbol = "US$";
      if (o.currencyDisplay === "code") symbol = o.currency;
      const money = [{ type: "currency", value: symbol }, ...(/[A-Z]$/.test(symbol) && symbol.length > 2 && !/[^A-Z]/.test(symbol) ? [{ type: "literal", value: "\u00a0" }] : []), ...body];
      if (o.currencySign === "accounting" && sign === "-") return [{ type: "literal", value: "(" }, ...money, { type: "literal", value: ")" }];
      return [...signs, ...money];
    }
    formatRange(a, b) { const x = this.format(a), y = this.format(b); return x === y ? "~" + x : x + "–" + y; }
    resolvedOptions() { const { compactRounding, ...rest } = this.#o; return { ...rest, roundingMode: "halfExpand" }; }
    static supportedLocalesOf(locales) { return supported(locales); }
    get [Symbol.toStringTag]() { return "Intl.NumberFormat"; }
  }
  // shift moves the decimal point without the error of a multiplication.
  const shift = (x, by) => { const [m, e = "0"] = x.toString().split("e"); return m + "e" + (Number(e) + by); };

  const months = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];
  const days = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
  const styles = {
    full: { weekday: "long", month: "long", day: "numeric", year: "numeric" }, long: { month: "long", day: "numeric", year: "numeric" },
    medium: { month: "short", day: "numeric", year: "numeric" }, short: { month: "numeric", day: "numeric", year: "2-digit" },
  };
  const times = {
    full: { hour: "numeric", minute: "2-digit", second: "2-digit", timeZoneName: "long" }, long: { hour: "numeric", minute: "2-digit", second: "2-digit", timeZoneName: "short" },
    medium: { hour: "numeric", minute: "2-digit", second: "2-digit" }, short: { hour: "numeric", minute: "2-digit" },
  };
  const dateFields = ["weekday", "year", "month", "day"];
  const timeFields = ["hour", "minute", "second", "fractionalSecondDigits", "dayPeriod"];
  const two = (n) => String(n).padStart(2, "0");

  class DateTimeFormat {
    #o;
    constructor(locales, options, needed = "any", defaults = "date") {
      const o = { locale: resolve(locales), calendar: "gregory", numberingSystem: "latn" };
      options = options === undefined ? {} : Object(options);
      o.timeZone = options.timeZone === undefined ? "UTC" : String(options.timeZone);
      o.timeZone = host.zone(o.timeZone, 0)[2];
      pick(options, "hourCycle", ["h11", "h12", "h23", "h24"], undefined);
      const fields = {
        weekday: ["narrow", "short", "long"], era: ["narrow", "short", "long"], year: ["2-digit", "numeric"], month: ["2-digit", "numeric", "narrow", "short", "long"], day: ["2-digit", "numeric"],
        hour: ["2-digit", "numeric"], minute: ["2-digit", "numeric"], second: ["2-digit", "numeric"], timeZoneName: ["short", "long", "shortOffset", "longOffset", "shortGeneric", "longGeneric"],
      };
      for (const name of Object.keys(fields)) { const v = pick(options, name, fields[name], undefined); if (v !== undefined) o[name] = v; }
      const fraction = digits(options, "fractionalSecondDigits", 1, 3, undefined);
      if (fraction !== undefined) o.fractionalSecondDigits = fraction;
      const dateStyle = pick(options, "dateStyle", Object.keys(styles), undefined);
      const timeStyle = pick(options, "timeStyle", Object.keys(times), undefined);
      if (dateStyle || timeStyle) {
        for (const name of [...dateFields, ...timeFields, "timeZoneName"]) if (o[name] !== undefined) throw new TypeError("Can't set option " + name + " when dateStyle or timeStyle is used");
        Object.assign(o, dateStyle && styles[dateStyle], timeStyle && times[timeStyle]);
        if (dateStyle === "short" && o.locale === "en-GB") Object.assign(o, { day: "2-digit", month: "2-digit", year: "numeric" });
        o.dateStyle = dateStyle;
        o.timeStyle = timeStyle;
        o.joined = (dateStyle === "full" || dateStyle === "long") && timeStyle ? " at " : ", ";
      } else {
        const has = (list) => list.some((f) => o[f] !== undefined);
        const missing = needed === "date" ? !has(dateFields) : needed === "time" ? !has(timeFields) : !has(dateFields) && !has(timeFields);
        if (missing) {
          if (defaults !== "time") Object.assign(o, { year: "numeric", month: "numeric", day: "numeric" });
          if (defaults !== "date") Object.assign(o, { hour: "numeric", minute: "2-digit", second: "2-digit" });
        }
        o.joined = ", ";
      }
      o.hourCycle = options.hour12 !== undefined ? (options.hour12 ? "h12" : "h23") : options.hourCycle !== undefined ? options.hourCycle : o.locale === "en-GB" ? "h23" : "h12";
      this.#o = o;
      this.format = (v) => this.formatToParts(v).map((p) => p.value).join("");
      Object.defineProperty(this, "format", { enumerable: false });
    }
    formatToParts(value) {
      const o = this.#o;
      const ms = value === undefined ? Date.now() : Number(value);
      if (!(Math.abs(ms) <= 8.64e15)) throw new RangeError("Invalid time value");
      const [offset, zoneName] = host.zone(o.timeZone, ms);
      // Beyond the last time that a Date can have, in a zone ahead of UTC, the calendar of 400 years before is the same.
      const cycle = Math.abs(ms + offset * 1000) <= 8.64e15 ? 0 : Math.sign(ms);
      const d = new Date(ms + offset * 1000 - cycle * 146097 * 864e5);
      const date = this.#date(d, d.getUTCFullYear() + cycle * 400), time = this.#time(d, offset, zoneName);
      return date.length && time.length ? [...date, { type: "literal", value: o.joined }, ...time] : [...date, ...time];
    }
    #date(d, y) {
      const o = this.#o;
      if (!dateFields.some((f) => o[f] !== undefined)) return [];
      const british = o.locale === "en-GB";
      const textual = ["narrow", "short", "long"].includes(o.month);
      const full = o.year !== undefined && o.month !== undefined && o.day !== undefined;
      const iso = o.locale === "en-CA" && full && !textual && o.year === "numeric";
      const padded = (british && !textual && o.month !== undefined && (o.day !== undefined || o.year !== undefined)) || iso;
      const number = (n, style) => (style === "2-digit" || padded ? two(n) : String(n));
      const part = {
        weekday: o.weekday && { type: "weekday", value: o.weekday === "long" ? days[d.getUTCDay()] : o.weekday === "short" ? days[d.getUTCDay()].slice(0, 3) : days[d.getUTCDay()][0] },
        year: o.year && { type: "year", value: o.year === "2-digit" ? two((y <= 0 ? 1 - y : y) % 100) : String(y <= 0 ? 1 - y : y) },
        month: o.month && { type: "month", value: o.month === "long" ? months[d.getUTCMonth()] : o.month === "short" ? (british && d.getUTCMonth() === 8 ? "Sept" : months[d.getUTCMonth()].slice(0, 3)) : o.month === "narrow" ? months[d.getUTCMonth()][0] : number(d.getUTCMonth() + 1, o.month) },
        day: o.day && { type: "day", value: number(d.getUTCDate(), o.day) },
      };
      const out = [];
      const add = (name, before) => { if (part[name]) { if (out.length) out.push({ type: "literal", value: before }); out.push(part[name]); } };
      if (iso) { add("weekday", ""); add("year", ", "); add("month", "-"); add("day", "-"); }
      else if (textual && british) { add("weekday", ""); add("day", full && o.weekday ? (o.weekday === "long" ? " " : ", ") : " "); add("month", out.length && !o.day ? ", " : " "); add("year", " "); }
      else if (textual) { add("weekday", ""); add("month", ", "); add("day", " "); add("year", o.day ? ", " : " "); }
      else if (british) { add("weekday", ""); add("day", ", "); add("month", "/"); add("year", "/"); }
      else { add("weekday", ""); add("month", o.weekday ? ", " : ""); add("day", o.month ? "/" : o.weekday ? " " : ""); add("year", "/"); }
      if (!o.month && o.weekday && o.day && !o.year) return [part.day, { type: "literal", value: " " }, part.weekday];
      if (o.era) out.push({ type: "literal", value: " " }, { type: "era", value: o.era === "long" ? (y > 0 ? "Anno Domini" : "Before Christ") : o.era === "short" ? (y > 0 ? "AD" : "BC") : y > 0 ? "A" : "B" });
      return out;
    }
    #time(d, offset, zoneName) {
      const o = this.#o;
      const out = [];
      const twelve = o.hourCycle === "h12" || o.hourCycle === "h11";
      if (o.hour !== undefined) {
        let h = d.getUTCHours();
        if (o.hourCycle === "h12") h = h % 12 || 12; else if (o.hourCycle === "h11") h %= 12; else if (o.hourCycle === "h24") h = h || 24;
        out.push({ type: "hour", value: o.hour === "2-digit" || !twelve ? two(h) : String(h) });
      }
      const alone = o.hour === undefined;
      if (o.minute !== undefined) { if (out.length) out.push({ type: "literal", value: ":" }); out.push({ type: "minute", value: alone && o.second === undefined ? String(d.getUTCMinutes()) : two(d.getUTCMinutes()) }); }
      if (o.second !== undefined) { if (out.length) out.push({ type: "literal", value: ":" }); out.push({ type: "second", value: out.length ? two(d.getUTCSeconds()) : String(d.getUTCSeconds()) }); }
      if (o.fractionalSecondDigits) { if (out.length) out.push({ type: "literal", value: "." }); out.push({ type: "fractionalSecond", value: String(d.getUTCMilliseconds()).padStart(3, "0").slice(0, o.fractionalSecondDigits) }); }
      if (o.hour !== undefined && twelve) out.push({ type: "literal", value: " " }, { type: "dayPeriod", value: o.locale === "en-CA" ? (d.getUTCHours() < 12 ? "a.m." : "p.m.") : d.getUTCHours() < 12 ? "AM" : "PM" });
      if (o.timeZoneName) {
        const sign = offset < 0 ? "-" : "+", m = Math.abs(Math.round(offset / 60));
        const long = "GMT" + (m ? sign + two(Math.floor(m / 60)) + ":" + two(m % 60) : "");
        const short = "GMT" + (m ? sign + Math.floor(m / 60) + (m % 60 ? ":" + two(m % 60) : "") : "");
        const utc = o.timeZone === "UTC";
        const name = o.timeZoneName === "longOffset" ? long : o.timeZoneName === "shortOffset" ? short
          : utc ? (o.timeZoneName.startsWith("long") ? "Coordinated Universal Time" : "UTC") : /^[ECMP][SD]T$/.test(zoneName) && !o.timeZoneName.startsWith("long") && o.locale !== "en-GB" ? zoneName : short;
        if (out.length) out.push({ type: "literal", value: " " });
        out.push({ type: "timeZoneName", value: name });
      }
      return out;
    }
    formatRange(a, b) { const x = this.format(a), y = this.format(b); return x === y ? x : x + " – " + y; }
    resolvedOptions() { const { joined, hour, ...rest } = this.#o; return hour === undefined ? { ...rest, hourCycle: undefined } : { ...rest, hour, hour12: rest.hourCycle === "h12" || rest.hourCycle === "h11" }; }
    static supportedLocalesOf(locales) { return supported(locales); }
    get [Symbol.toStringTag]() { return "Intl.DateTimeFormat"; }
  }

  const punctuation = new RegExp("[\\p{P}\\s]", "gu");
  class Collator {
    #o;
    constructor(locales, options = {}) {
      options = Object(options);
      this.#o = {
        locale: resolve(locales, true), usage: pick(options, "usage", ["sort", "search"], "sort"),
        sensitivity: pick(options, "sensitivity", ["base", "accent", "case", "variant"], "variant"),
        ignorePunctuation: Boolean(options.ignorePunctuation), numeric: Boolean(options.numeric), caseFirst: pick(options, "caseFirst", ["upper", "lower", "false"], "false"), collation: "default",
      };
      const o = this.#o;
      const strip = (s) => (o.ignorePunctuation ? s.replace(punctuation, "") : s);
      this.compare = (a, b) => host.collate(strip(String(a)), strip(String(b)), o.sensitivity, o.numeric, o.caseFirst === "upper");
      Object.defineProperty(this, "compare", { enumerable: false });
    }
    resolvedOptions() { return { ...this.#o }; }
    static supportedLocalesOf(locales) { return supported(locales); }
    get [Symbol.toStringTag]() { return "Intl.Collator"; }
  }

  class PluralRules {
    #o; #format;
    constructor(locales, options = {}) {
      options = Object(options);
      this.#format = new NumberFormat("en-US", { ...options, style: "decimal", useGrouping: false });
      this.#o = { locale: resolve(locales), type: pick(options, "type", ["cardinal", "ordinal"], "cardinal") };
    }
    select(n) {
      const text = this.#format.format(Number(n));
      if (this.#o.type === "cardinal") return text.replace("-", "") === "1" ? "one" : "other";
      const x = Math.abs(Number(text));
      if (x % 10 === 1 && x % 100 !== 11) return "one";
      if (x % 10 === 2 && x % 100 !== 12) return "two";
      if (x % 10 === 3 && x % 100 !== 13) return "few";
      return "other";
    }
    resolvedOptions() { return { ...this.#o, pluralCategories: this.#o.type === "ordinal" ? ["few", "one", "two", "other"] : ["one", "other"] }; }
    static supportedLocalesOf(locales) { return supported(locales); }
    get [Symbol.toStringTag]() { return "Intl.PluralRules"; }
  }

  class ListFormat {
    #o;
    constructor(locales, options = {}) {
      options = Object(options);
      this.#o = { locale: resolve(locales), type: pick(options, "type", ["conjunction", "disjunction", "unit"], "conjunction"), style: pick(options, "style", ["long", "short", "narrow"], "long") };
    }
    format(list) {
      const all = [...list];
      const { type, style, locale } = this.#o;
      for (const s of all) if (typeof s !== "string") throw new TypeError("Iterable yielded a value which is not a string");
      if (all.length < 2) return all.join("");
      if (type === "unit") return all.join(style === "narrow" ? " " : ", ");
      const word = type === "disjunction" ? "or" : style === "long" || locale === "en-GB" ? "and" : style === "short" ? "&" : "";
      const last = all.pop();
      const comma = all.length > 1 && locale !== "en-GB" || word === "";
      return all.join(", ") + (comma ? "," : "") + " " + (word ? word + " " : "") + last;
    }
    resolvedOptions() { return { ...this.#o }; }
    static supportedLocalesOf(locales) { return supported(locales); }
    get [Symbol.toStringTag]() { return "Intl.ListFormat"; }
  }

  class RelativeTimeFormat {
    #o; #number;
    constructor(locales, options = {}) {
      options = Object(options);
      this.#o = { locale: resolve(locales), style: pick(options, "style", ["long", "short", "narrow"], "long"), numeric: pick(options, "numeric", ["always", "auto"], "always"), numberingSystem: "latn" };
      this.#number = new NumberFormat("en-US");
    }
    format(value, unit) {
      const name = String(unit).replace(/s$/, "");
      if (!["second", "minute", "hour", "day", "week", "month", "quarter", "year"].includes(name)) throw new RangeError("Invalid unit argument for format() '" + unit + "'");
      const n = Number(value);
      if (!Number.isFinite(n)) throw new RangeError("the value is not finite");
      const past = n < 0 || Object.is(n, -0);
      if (this.#o.numeric === "auto" && (n === 0 || Math.abs(n) === 1)) {
        if (name === "day") return past && n ? "yesterday" : n ? "tomorrow" : "today";
        if (name === "second" && n === 0) return "now";
        if (n === 0) return "this " + name;
        if (!["second", "minute", "hour"].includes(name)) return (past ? "last " : "next ") + name;
      }
      const short = { second: "sec.", minute: "min.", hour: "hr.", day: "day", week: "wk.", month: "mo.", quarter: "qtr.", year: "yr." };
      const one = Math.abs(n) === 1;
      let text = this.#o.style === "long" || name === "day" ? name + (one ? "" : "s") : short[name];
      if (this.#o.style !== "long" && name === "quarter" && !one) text = "qtrs.";
      if (this.#o.style === "narrow") text = { second: "s", minute: "min", hour: "h", day: "d", week: "w", month: "mo", quarter: "q", year: "y" }[name];
      const count = this.#number.format(Math.abs(n)) + (this.#o.style === "narrow" ? "" : " ") + text;
      return past ? count + " ago" : "in " + count;
    }
    resolvedOptions() { return { ...this.#o }; }
    static supportedLocalesOf(locales) { return supported(locales); }
    get [Symbol.toStringTag]() { return "Intl.RelativeTimeFormat"; }
  }

  const Intl = {
    NumberFormat: callable(NumberFormat), DateTimeFormat: callable(DateTimeFormat), Collator: callable(Collator), PluralRules, ListFormat, RelativeTimeFormat,
    getCanonicalLocales(locales) { return [...new Set(tags(locales))]; },
    supportedValuesOf(key) { return key === "currency" ? Object.keys(currencies) : key === "unit" ? Object.keys(units) : []; },
  };
  Object.defineProperty(Intl, Symbol.toStringTag, { value: "Intl", configurable: true });

  const dateOf = (v) => { if (!(v instanceof Date)) throw new TypeError("this is not a Date"); return v.getTime(); };
  const day = (v, locales, options, needed, defaults) => {
    const ms = dateOf(v);
    return Number.isNaN(ms) ? "Invalid Date" : new DateTimeFormat(locales, options, needed, defaults).format(ms);
  };
  const cache = new Map();
  const collator = (locales, options) => {
    if (options !== undefined || locales !== undefined && typeof locales !== "string") return new Collator(locales, options);
    let c = cache.get(locales);
    if (!c) { c = new Collator(locales); cache.set(locales, c); }
    return c;
  };
  // cased refuses the languages that have letters of their own for a case.
  const cased = (locales, text) => {
    const [first] = tags(locales);
    if (first !== undefined && /^(tr|az|lt)\b/i.test(first)) throw new RangeError("the locale " + first + " is not available here: there are " + known.join(", "));
    return text;
  };
  const methods = {
    number(locales, options) { return new NumberFormat(locales, options).format(Number(this)); },
    bigint(locales, options) { return new NumberFormat(locales, options).format(this.valueOf()); },
    date(locales, options) { return day(this, locales, options, "any", "all"); },
    day(locales, options) { return day(this, locales, options, "date", "date"); },
    time(locales, options) { return day(this, locales, options, "time", "time"); },
    array(locales, options) { return Array.from(this, (v) => (v === undefined || v === null ? "" : v.toLocaleString(locales, options))).join(","); },
    upper(locales) { return cased(locales, String(this)).toUpperCase(); },
    lower(locales) { return cased(locales, String(this)).toLowerCase(); },
    localeCompare(that, locales, options) { return collator(locales, options).compare(String(this), String(that)); },
  };
  const named = (name, fn) => Object.defineProperty(fn, "name", { value: name, configurable: true });
  return {
    Intl,
    "Number.prototype.toLocaleString": named("toLocaleString", methods.number),
    "BigInt.prototype.toLocaleString": named("toLocaleString", methods.bigint),
    "Date.prototype.toLocaleString": named("toLocaleString", methods.date),
    "Date.prototype.toLocaleDateString": named("toLocaleDateString", methods.day),
    "Date.prototype.toLocaleTimeString": named("toLocaleTimeString", methods.time),
    "Array.prototype.toLocaleString": named("toLocaleString", methods.array),
    "String.prototype.toLocaleUpperCase": named("toLocaleUpperCase", methods.upper),
    "String.prototype.toLocaleLowerCase": named("toLocaleLowerCase", methods.lower),
    "String.prototype.localeCompare": methods.localeCompare,
  };
})
