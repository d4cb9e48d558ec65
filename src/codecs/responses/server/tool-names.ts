/** The longest name that every vendor accepts. */
const MAX_NAME_LENGTH = 64;
/** The length of the stem of a name: what remains of it before any number. */
const STEM_LENGTH = 56;

/** A tool as the client knows it. */
export interface ClientTool {
  readonly name: string;
  readonly namespace?: string | undefined;
  /** The tool takes free text, where a function takes JSON. */
  readonly isCustom: boolean;
}

/**
 * Maps tool names. Models know one flat list of functions; clients of this format also use namespaces and free-text
 * tools. The mapping allows a call to be returned under the client's own name.
 */
export class ToolNames {
  readonly #taken: Set<string>;
  readonly #clientTools = new Map<string, ClientTool>();
  readonly #offered = new Map<string, string>();
  /**
   * By stem, the first number to try for another tool: long names with the same beginning become equal when truncated.
   */
  readonly #nextNumber = new Map<string, number>();

  /** @param functions the names of the plain functions, which are kept. */
  constructor(functions: Iterable<string>) {
    this.#taken = new Set(functions);
  }

  /** Finds a free name for a tool that is custom or in a namespace. Returns the name sent to the model. */
  offer(tool: ClientTool): string {
    const offered = this.#freeName(wantedName(tool));
    this.#taken.add(offered);
    this.#clientTools.set(offered, tool);
    this.#offered.set(keyOf(tool), offered);
    return offered;
  }

  /** Returns the model's name of a tool, even of one that is no longer declared. */
  nameFor(tool: ClientTool): string {
    return this.#offered.get(keyOf(tool)) ?? wantedName(tool);
  }

  /** Returns the client's tool for the model's name; undefined for a plain function. */
  find(offered: string): ClientTool | undefined {
    return this.#clientTools.get(offered);
  }

  #freeName(wanted: string): string {
    if (!this.#taken.has(wanted)) return wanted;
    const stem = wanted.slice(0, STEM_LENGTH);
    let number = this.#nextNumber.get(stem) ?? 2;
    while (this.#taken.has(numbered(wanted, number))) number++;
    this.#nextNumber.set(stem, number + 1);
    return numbered(wanted, number);
  }
}

function numbered(name: string, number: number): string {
  const suffix = `_${number}`;
  return name.slice(0, MAX_NAME_LENGTH - suffix.length) + suffix;
}

/** Builds the preferred name. A long name keeps its end, which is more specific than the namespace. */
function wantedName({ name, namespace }: ClientTool): string {
  if (namespace === undefined) return name;
  const joint = namespace.endsWith("_") ? "" : "__";
  return `${namespace}${joint}${name}`.replaceAll(/[^\w-]/g, "_").slice(-MAX_NAME_LENGTH);
}

function keyOf({ name, namespace, isCustom }: ClientTool): string {
  return JSON.stringify([namespace ?? null, name, isCustom]);
}
