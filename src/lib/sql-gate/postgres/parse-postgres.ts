import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { PgQueryInstance } from "libpg-query/wasm/libpg-query.js";
import { Refused } from "../verdict.ts";

/** A node of a parse tree: its fields by name. A node in a field of any type stands in an object of one key, its type. */
export type TreeNode = { readonly [field: string]: unknown };

/** Its memory never shrinks, so an instance with more is replaced. It begins with 128 MiB, most of them untouched. */
const MEMORY_MAX = 192 * 1024 * 1024;

/** The server's own parser, compiled to WebAssembly. */
interface Parser {
  readonly instance: PgQueryInstance;
  /** After a failure its stack and memory are in an unknown state: it must not be used again. */
  isSpoiled: boolean;
}

let loading: Promise<Parser> | undefined;
let compiling: Promise<WebAssembly.Module> | undefined;

/**
 * Returns the statements of a text, each as the one node that its parse tree is. Throws `Refused` for what PostgreSQL
 * cannot parse and for what is nested too deeply. The parser is loaded with the first statement, and works on the
 * calling thread: under a millisecond for what people write. 8 KiB of commas and constants take about 15 ms on Node and
 * 10 ms on Bun, and about 100 ms as the first statement of a process, whose code is not optimised yet; 16 KiB take half
 * as long again.
 */
export async function parsePostgres(sql: string): Promise<readonly TreeNode[]> {
  const parser = await usableParser();
  try {
    return parseWith(parser.instance, sql);
  } catch (thrown) {
    if (thrown instanceof Refused) throw thrown;
    // Deep nesting ends in the runtime's stack overflow, in the middle of the parser's own work.
    parser.isSpoiled = true;
    throw tooDeep();
  } finally {
    if (parser.instance.HEAPU8.length > MEMORY_MAX) parser.isSpoiled = true;
  }
}

async function usableParser(): Promise<Parser> {
  for (;;) {
    loading ??= loadParser();
    const used = loading;
    const parser = await used.catch((thrown: unknown) => {
      if (loading === used) loading = undefined;
      throw thrown;
    });
    // Others who waited for the same instance may have spoiled it by now.
    if (!parser.isSpoiled) return parser;
    if (loading === used) loading = undefined;
  }
}

async function loadParser(): Promise<Parser> {
  // The package's own entry makes one instance for the life of the process; one that has failed must be replaced.
  const { default: createInstance } = await import("libpg-query/wasm/libpg-query.js");
  compiling ??= compile();
  const module = await compiling;
  const instance = await createInstance({
    instantiateWasm(imports, receive) {
      void WebAssembly.instantiate(module, imports).then((made) => receive(made, module));
      return {};
    },
  });
  return { instance, isSpoiled: false };
}

async function compile(): Promise<WebAssembly.Module> {
  const require = createRequire(import.meta.url);
  const path = require.resolve("libpg-query/wasm/libpg-query.wasm");
  return WebAssembly.compile(await readFile(path));
}

function parseWith(instance: PgQueryInstance, sql: string): readonly TreeNode[] {
  const bytes = instance.lengthBytesUTF8(sql) + 1;
  const text = instance._malloc(bytes);
  if (text === 0) throw new Error("The parser has no memory left.");
  instance.stringToUTF8(sql, text, bytes);
  const result = instance._wasm_parse_query_raw(text);
  instance._free(text);
  if (result === 0) throw new Error("The parser has no memory left.");
  try {
    // The result is a structure of addresses: the tree as JSON, messages, the error.
    const error = instance.getValue(result + 8, "i32");
    if (error !== 0) {
      throw notParsed(readText(instance, error), instance.getValue(error + CURSOR_OFFSET, "i32"));
    }
    const { stmts = [] } = JSON.parse(readText(instance, result)) as {
      stmts?: { stmt: TreeNode }[];
    };
    return stmts.map(({ stmt }) => stmt);
  } finally {
    instance._wasm_free_parse_result(result);
  }
}

function readText(instance: PgQueryInstance, address: number): string {
  return instance.UTF8ToString(instance.getValue(address, "i32"));
}

/** Where the structure of an error has its position: after three texts and a line number. */
const CURSOR_OFFSET = 16;

function notParsed(words: string, position: number): Refused {
  if (words.startsWith("memory exhausted")) return tooDeep();
  return new NotParsed(words, position);
}

/** The text is not PostgreSQL's grammar. */
export class NotParsed extends Refused {
  /** PostgreSQL's own words. */
  readonly words: string;
  /** Where it is, counted in characters from 1; 0 where PostgreSQL does not say. */
  readonly position: number;

  constructor(words: string, position: number) {
    super(
      `PostgreSQL cannot parse the statement: ${words}.`,
      "Write one statement in PostgreSQL's dialect, without placeholders.",
    );
    this.name = "NotParsed";
    this.words = words;
    this.position = position;
  }
}

/** The text could exhaust the stack of the parser or of the server. */
export class TooDeep extends Refused {
  constructor() {
    super(
      "The statement is nested too deeply.",
      "Use fewer levels of parentheses, subqueries or chained operators.",
    );
    this.name = "TooDeep";
  }
}

export function tooDeep(): Refused {
  return new TooDeep();
}
