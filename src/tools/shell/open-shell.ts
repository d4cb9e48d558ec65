import { accessSync, constants, existsSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Settings } from "../../config/settings.ts";
import { coversName } from "../../core/name-patterns.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Assistant } from "../../knowledge/assistants/assistant.ts";
import { type FileConnections, isBelow, WORKSPACE } from "../../knowledge/file-connections.ts";
import { limitWork } from "../../lib/concurrency.ts";
import { makeFolder } from "../../lib/folders/make-folder.ts";
import { inFolderOf, StartRefusal } from "../../lib/folders/start-refusal.ts";
import type { Log } from "../../lib/log.ts";
import {
  type CommandLimits,
  type CommandResult,
  runCommand,
  SandboxFailure,
} from "./run-command.ts";
import type { Sandbox, SandboxPrograms } from "./sandbox.ts";

/** Commands that run at once on a replica, and that wait. */
const RUNNING = 4;
const WAITING = 32;
const PROBE: CommandLimits = { timeMs: 10_000, outputBytes: 1_024 };
const PROGRAM_FOLDERS = ["/usr/local/bin", "/usr/bin", "/bin"];
/** Where the program is and where it was started; a file with its settings may be in both. */
const PROGRAM_PLACES = [fileURLToPath(new URL("../../..", import.meta.url)), process.cwd()];
const MORE = "See 'The shell' in docs/tools.md, or unset TOOL_SHELL_ENABLED.";

export interface Shell {
  /** A command sees the workspace, so the assistant must have that file connection. */
  readonly isFor: (assistant: Assistant) => boolean;
  /** Rejects with a `ServiceError` for the model, or the signal's reason. */
  readonly run: (
    command: string,
    limits: CommandLimits,
    signal: AbortSignal,
  ) => Promise<CommandResult>;
  /** Ends all commands. */
  readonly close: () => void;
}

export interface ShellParts {
  readonly settings: Pick<Settings, "WORKSPACE_DIR">;
  readonly fileConnections: Pick<FileConnections, "find" | "hidden">;
  readonly log: Log;
  /** Where its programs are looked for. */
  readonly programFolders?: readonly string[];
}

/** Opens the shell, whose workspace is created if it is missing. Rejects with a `StartRefusal` where it cannot be safe. */
export async function openShell(parts: ShellParts): Promise<Shell> {
  if (process.getuid?.() === 0) {
    throw new StartRefusal(
      `TOOL_SHELL_ENABLED: commands of models never run as root. Start the server as another user. ${MORE}`,
    );
  }
  const programs = findPrograms(parts.programFolders ?? PROGRAM_FOLDERS);
  const workspace = await openWorkspace(parts);
  const { hidden } = parts.fileConnections;
  const sandbox = await probe({
    programs,
    workspace,
    masked: await realPaths([hidden.data, ...hidden.written, ...PROGRAM_PLACES]),
  });
  if (!sandbox.hasProc) {
    parts.log.warn(
      {},
      "the sandbox of execute_shell has no /proc, because this system forbids a new one; some programs fail without it",
    );
  }
  return createShell(sandbox, parts.log);
}

function createShell(sandbox: Sandbox, log: Log): Shell {
  const closing = new AbortController();
  const inTurn = limitWork({
    running: RUNNING,
    waiting: WAITING,
    refusal: () => new ServiceError("overloaded", "Too many commands run now. Try again later."),
  });
  return {
    isFor: ({ fileConnections }) => coversName(fileConnections, WORKSPACE),
    run: (command, limits, signal) =>
      inTurn(async () => {
        const either = AbortSignal.any([signal, closing.signal]);
        try {
          return await runCommand(sandbox, command, limits, either);
        } catch (thrown) {
          if (!(thrown instanceof SandboxFailure)) throw thrown;
          log.error({ err: thrown }, "the sandbox of execute_shell could not be started");
          throw notStarted(thrown);
        }
      }),
    close: () => closing.abort(new ServiceError("overloaded", "The server is stopping.")),
  };
}

function notStarted(cause: SandboxFailure): ServiceError {
  const message = "The sandbox could not be started. Try again later.";
  return new ServiceError("overloaded", message, { cause });
}

function findPrograms(folders: readonly string[]): SandboxPrograms {
  const findOrThrow = (name: string, from: string) => {
    const path = folders.map((folder) => `${folder}/${name}`).find(isExecutable);
    if (path !== undefined) return path;
    throw new StartRefusal(
      `TOOL_SHELL_ENABLED: '${name}' is missing. Install the package ${from}. ${MORE}`,
    );
  };
  return {
    bwrap: findOrThrow("bwrap", "bubblewrap"),
    prlimit: findOrThrow("prlimit", "util-linux"),
    nice: findOrThrow("nice", "coreutils"),
    bash: findOrThrow("bash", "bash"),
  };
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** A command may write to the workspace, so nothing of the service may be in it. */
async function openWorkspace({ settings, fileConnections }: ShellParts): Promise<string> {
  const setting = settings.WORKSPACE_DIR === undefined ? "DATA_DIR" : "WORKSPACE_DIR";
  const { folder = "" } = fileConnections.find(WORKSPACE) ?? {};
  const workspace = await inFolderOf(setting, async () => {
    if (!existsSync(folder)) await makeFolder(folder);
    const real = await realpath(folder);
    accessSync(real, constants.R_OK | constants.W_OK | constants.X_OK);
    return real;
  });
  const { data, written } = fileConnections.hidden;
  const own = await realPaths([data, ...written, ...PROGRAM_PLACES]);
  const ofService = await realPaths(written);
  const isUnsafe =
    own.some((path) => isBelow(workspace, path)) ||
    ofService.some((path) => isBelow(path, workspace));
  if (!isUnsafe) return workspace;
  throw new StartRefusal(
    "WORKSPACE_DIR: with TOOL_SHELL_ENABLED commands may write there, so it must hold neither DATA_DIR nor the program. " +
      `Name a folder of its own. ${MORE}`,
  );
}

function realPaths(paths: readonly string[]): Promise<string[]> {
  return Promise.all(paths.map((path) => realpath(path).catch(() => path)));
}

/** Finds out by trying what this system permits. */
async function probe(sandbox: Omit<Sandbox, "hasProc">): Promise<Sandbox> {
  let reason = "";
  for (const hasProc of [true, false]) {
    try {
      const tried = { ...sandbox, hasProc };
      const result = await runCommand(tried, "echo ready", PROBE, new AbortController().signal);
      if (result.output.trim() === "ready") return tried;
      reason ||= result.endedFor ?? result.output;
    } catch (thrown) {
      if (!(thrown instanceof SandboxFailure)) throw thrown;
      reason ||= thrown.message;
    }
  }
  throw new StartRefusal(
    `TOOL_SHELL_ENABLED: no sandbox can be made here (${reason}). It needs bubblewrap 0.8 and user namespaces. ${MORE}`,
  );
}
