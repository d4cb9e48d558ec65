import type { Settings } from "../../../../src/config/settings.ts";
import type { Assistant } from "../../../../src/knowledge/assistants/assistant.ts";
import { openFileConnections } from "../../../../src/knowledge/file-connections.ts";
import { nowMs } from "../../../../src/tools/files/file-job.ts";
import {
  type FileToolSettings,
  openFileTools,
} from "../../../../src/tools/files/open-file-tools.ts";
import { createToolRegistry } from "../../../../src/tools/registry.ts";
import { runTool } from "../../../../src/tools/run-tool.ts";
import { keyCaller, testAssistant } from "../assistants.ts";

type Folders = Pick<Settings, "DATA_DIR" | "WATCH_DIRS"> &
  Partial<Pick<Settings, "WORKSPACE_DIR" | "FILES_DIR">>;

/**
 * The tools that read files, as models call them.
 * @param workMs after this time the work ends with what it has; undefined: as the settings have it
 */
export function openFileToolStage(
  folders: Folders,
  change: Partial<FileToolSettings> = {},
  workMs?: number,
) {
  const settings = { TOOL_TIMEOUT_MS: 60_000, TOOL_RESULT_MAX_BYTES: 65_536, ...change };
  const { WORKSPACE_DIR, ...others } = folders;
  const files = openFileTools(openFileConnections({ WORKSPACE_DIR, ...others }), settings);
  const search = { search: async () => [], settings: { RAG_TOP_K: 8, RAG_MIN_SIMILARITY: 0.35 } };
  const limits = () =>
    workMs === undefined ? files.limits() : { ...files.limits(), endsAtMs: nowMs() + workMs };
  const registry = createToolRegistry({ ...search, files: { ...files, limits } });
  const everything = testAssistant(1, { fileConnections: ["*"] });
  return {
    registry,
    close: files.close,
    /** Runs a tool for an assistant, which has every connection unless it is given. */
    async call(
      name: string,
      args: Readonly<Record<string, unknown>>,
      assistant: Assistant = everything,
      signal: AbortSignal = new AbortController().signal,
    ) {
      const tool = registry.find(name);
      if (tool === undefined) throw new Error(`there is no ${name}`);
      const context = { caller: keyCaller("usr_1"), assistant, signal };
      return runTool(tool, JSON.stringify(args), context, {
        timeoutMs: settings.TOOL_TIMEOUT_MS,
        maxResultBytes: settings.TOOL_RESULT_MAX_BYTES,
      });
    },
  };
}
