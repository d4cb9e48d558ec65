import type { Assistant } from "../knowledge/assistants/assistant.ts";
import { createExecuteShell } from "./builtin/execute-shell.ts";
import { createFindFiles } from "./builtin/find-files.ts";
import { createListFileConnections } from "./builtin/list-file-connections.ts";
import { createListMyConnections } from "./builtin/list-my-connections.ts";
import { createQuerySql, type QuerySqlParts } from "./builtin/query-sql.ts";
import { createReadFile } from "./builtin/read-file.ts";
import { createSearchKnowledge, type SearchParts } from "./builtin/search-knowledge.ts";
import { createSearchWorkspace } from "./builtin/search-workspace.ts";
import type { FileTools } from "./files/open-file-tools.ts";
import type { Shell } from "./shell/open-shell.ts";
import type { Tool } from "./tool.ts";

/** Tools that come and go while the gateway runs, such as those of tool servers. */
export interface ToolSource {
  /** Does not wait. A name that a built-in tool has is left out. */
  readonly list: () => readonly Tool[];
}

/** All tools. No other file knows all of them. */
export interface ToolRegistry {
  /** The tools that can be offered to an assistant here, whoever asks. Does not wait. */
  readonly list: (assistant: Assistant) => readonly Tool[];
  /** All tools, available to some assistant or not, by name. */
  readonly all: () => readonly Tool[];
  /** The tool of this name, available or not. */
  readonly find: (name: string) => Tool | undefined;
  /** The names of the built-in tools. They never change. */
  readonly builtIn: readonly string[];
}

/** What built-in tools work with. Those whose part is undefined do not exist. */
export interface BuiltInParts extends SearchParts {
  readonly databases?: QuerySqlParts | undefined;
  readonly files?: FileTools | undefined;
  readonly shell?: Shell | undefined;
}

export function createToolRegistry(
  parts: BuiltInParts,
  sources: readonly ToolSource[] = [],
): ToolRegistry {
  const builtIn = new Map(createBuiltIn(parts).map((tool) => [tool.name, tool]));
  const all = () => {
    if (sources.length === 0) return builtIn;
    const tools = new Map<string, Tool>();
    for (const source of sources) for (const tool of source.list()) tools.set(tool.name, tool);
    for (const [name, tool] of builtIn) tools.set(name, tool);
    return tools;
  };
  return {
    list: (assistant) =>
      [...all().values()].filter(({ isAvailable }) => isAvailable?.(assistant) ?? true),
    all: () => [...all().values()].sort((one, other) => (one.name < other.name ? -1 : 1)),
    find: (name) => all().get(name),
    builtIn: [...builtIn.keys()],
  };
}

function createBuiltIn(parts: BuiltInParts): readonly Tool[] {
  const { files, databases, shell } = parts;
  return [
    createSearchKnowledge(parts),
    ...(files === undefined ? [] : fileTools(files)),
    ...(databases === undefined ? [] : databaseTools(databases)),
    ...(shell === undefined ? [] : [createExecuteShell(shell)]),
  ];
}

function fileTools(files: FileTools): readonly Tool[] {
  return [
    createListFileConnections(files),
    createFindFiles(files),
    createSearchWorkspace(files),
    createReadFile(files),
  ];
}

function databaseTools(databases: QuerySqlParts): readonly Tool[] {
  return [createListMyConnections(databases.saved), createQuerySql(databases)];
}
