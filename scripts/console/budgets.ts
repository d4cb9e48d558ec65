import { gzipSync } from "node:zlib";

/** A part of the built program, as the bundler describes it. */
export interface BuiltChunk {
  readonly fileName: string;
  readonly code: string;
  /** The static imports, as names of chunks. */
  readonly imports: readonly string[];
  readonly isEntry: boolean;
  readonly isDynamicEntry: boolean;
  /** The module that a dynamic import names. */
  readonly facadeModuleId: string | null;
  readonly moduleIds: readonly string[];
}

export interface BuiltAsset {
  readonly fileName: string;
  readonly source: string | Uint8Array;
}

export interface Budget {
  readonly name: string;
  readonly bytes: number;
  readonly maxBytes: number;
}

const KB = 1_000;
const SHELL = 200 * KB;
const PAGE = 60 * KB;
const WORKFLOWS = 110 * KB;
const CSS = 15 * KB;
const FONTS = 90 * KB;
/** Bun's gzip makes 0.4% more of the same code than zlib, in which the budgets are: a build must not fail for it. */
const RUNTIME_SHARE = "Bun" in globalThis ? 1.005 : 1;

const WORKFLOW_PAGE = /\/pages\/workflow[^/]*\//;
const ANY_PAGE = /\/pages\/([^/]+)\//;
/** What is loaded when it is first met; the rest of what is loaded later counts as a page. */
const LATER = [
  { name: "editors", holds: /\/@codemirror\//, maxBytes: 130 * KB },
  { name: "graph", holds: /\/@xyflow\//, maxBytes: 95 * KB },
  { name: "formulas", holds: /\/node_modules\/katex\//, maxBytes: 83 * KB },
  { name: "colours of code", holds: /\/(lowlight|highlight\.js)\//, maxBytes: 45 * KB },
];
/** The fonts of an English page; other alphabets and formulas are loaded when they are met. */
const LATIN_FONT = /-latin-(?!ext)[^/]*\.woff2$/;
const FORMULA_STYLE = /katex/i;

/**
 * Measures what a browser loads, gzipped as it would be sent: the shell, each page with the shell, what parts add that
 * are loaded later, the styles, the fonts. A page is measured with the shell, because the bundler decides what of the
 * shared code is in which. Fonts are counted as they are.
 */
export function measureBudgets(
  chunks: readonly BuiltChunk[],
  assets: readonly BuiltAsset[],
): readonly Budget[] {
  const byName = new Map(chunks.map((chunk) => [chunk.fileName, chunk]));
  const entries = chunks.filter(({ isEntry }) => isEntry);
  const shell = closureOf(entries, byName);
  const sizes = new Map<BuiltChunk, number>();
  const sizeOf = (chunk: BuiltChunk) => {
    const size = sizes.get(chunk) ?? gzipSync(chunk.code, { level: 9 }).length;
    sizes.set(chunk, size);
    return size;
  };
  const sum = (parts: Iterable<BuiltChunk>) =>
    [...parts].reduce((total, chunk) => total + sizeOf(chunk), 0);
  const later = chunks
    .filter((chunk) => chunk.isDynamicEntry && !shell.has(chunk))
    .map((chunk) => {
      const added = [...closureOf([chunk], byName)].filter((part) => !shell.has(part));
      const { isPage, name, maxBytes } = budgetOf(chunk, added);
      const bytes = sum(added);
      return isPage
        ? { name, bytes: sum(shell) + bytes, maxBytes: SHELL + maxBytes }
        : { name, bytes, maxBytes };
    });
  return [
    { name: "shell", bytes: sum(shell), maxBytes: SHELL },
    ...later,
    ...measureAssets(assets),
  ];
}

function measureAssets(assets: readonly BuiltAsset[]): readonly Budget[] {
  const styles = assets.filter(
    ({ fileName }) => fileName.endsWith(".css") && !FORMULA_STYLE.test(fileName),
  );
  const fonts = assets.filter(({ fileName }) => LATIN_FONT.test(fileName));
  const css = styles.reduce((total, { source }) => total + gzipSync(source).length, 0);
  const woff = fonts.reduce((total, { source }) => total + source.length, 0);
  return [
    { name: "styles", bytes: css, maxBytes: CSS },
    { name: "fonts", bytes: woff, maxBytes: FONTS },
  ];
}

function budgetOf(
  { facadeModuleId, fileName }: BuiltChunk,
  added: readonly BuiltChunk[],
): Pick<Budget, "name" | "maxBytes"> & { readonly isPage: boolean } {
  const module = facadeModuleId ?? fileName;
  const page = ANY_PAGE.exec(module)?.[1];
  if (page !== undefined) {
    const maxBytes = WORKFLOW_PAGE.test(module) ? WORKFLOWS : PAGE;
    return { isPage: true, name: `page ${page}`, maxBytes };
  }
  const modules = added.flatMap(({ moduleIds }) => moduleIds);
  const kind = LATER.find(({ holds }) => modules.some((id) => holds.test(id)));
  const name = module.replace(/^.*\//, "");
  return kind === undefined
    ? { isPage: false, name, maxBytes: PAGE }
    : { isPage: false, name: `${kind.name} (${name})`, maxBytes: kind.maxBytes };
}

/** Returns the chunks with everything that they import statically. */
function closureOf(
  start: readonly BuiltChunk[],
  byName: ReadonlyMap<string, BuiltChunk>,
): ReadonlySet<BuiltChunk> {
  const found = new Set<BuiltChunk>(start);
  for (const chunk of found) {
    for (const name of chunk.imports) {
      const imported = byName.get(name);
      if (imported !== undefined) found.add(imported);
    }
  }
  return found;
}

/** Returns one line for each budget that is passed. */
export function findExcess(budgets: readonly Budget[]): readonly string[] {
  return budgets
    .filter(({ bytes, maxBytes }) => bytes > maxBytes * RUNTIME_SHARE)
    .map(
      ({ name, bytes, maxBytes }) =>
        `${name}: ${kilobytes(bytes)} of at most ${kilobytes(maxBytes)}`,
    );
}

export function kilobytes(bytes: number): string {
  return `${(bytes / KB).toFixed(1)} KB`;
}
