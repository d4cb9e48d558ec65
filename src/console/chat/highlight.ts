import { toJsxRuntime } from "hast-util-to-jsx-runtime";
import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import cpp from "highlight.js/lib/languages/cpp";
import csharp from "highlight.js/lib/languages/csharp";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import go from "highlight.js/lib/languages/go";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import kotlin from "highlight.js/lib/languages/kotlin";
import markdown from "highlight.js/lib/languages/markdown";
import php from "highlight.js/lib/languages/php";
import python from "highlight.js/lib/languages/python";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import { createLowlight } from "lowlight";
import type { ReactNode } from "react";
import { Fragment, jsx, jsxs } from "react/jsx-runtime";

/** Longer code is shown without colours: finding them would hold the page. */
const MAX_CHARACTERS = 32 * 1024;
/** Patterns of a language look from each character of a line to its end. */
const MAX_LINE = 2 * 1024;

const lowlight = createLowlight({
  ...{ bash, c, cpp, csharp, css, diff, go, java, javascript, json, kotlin, markdown, php, python },
  ...{ rust, sql, typescript, xml, yaml },
});

/** Returns code with its colours as elements, or undefined for what is shown without them. */
export function highlight(text: string, language: string): ReactNode | undefined {
  if (text.length > MAX_CHARACTERS || !lowlight.registered(language.toLowerCase()))
    return undefined;
  if (text.split("\n").some((line) => line.length > MAX_LINE)) return undefined;
  try {
    const tree = lowlight.highlight(language.toLowerCase(), text);
    return toJsxRuntime(tree, { Fragment, jsx, jsxs });
  } catch {
    return undefined;
  }
}
