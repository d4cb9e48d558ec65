import { ServiceError } from "../../core/service-error.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import type { Shell } from "../shell/open-shell.ts";
import type { CommandEnd, CommandResult } from "../shell/run-command.ts";
import { WORKSPACE_IN_SANDBOX } from "../shell/sandbox.ts";
import type { Tool } from "../tool.ts";

const TIME_MS = 30_000;
const OUTPUT_BYTES = 64 * 1024;
const MAX_COMMAND = 16_000;

const PARAMETERS: JsonObject = {
  type: "object",
  properties: {
    command: {
      type: "string",
      minLength: 1,
      maxLength: MAX_COMMAND,
      description: "The command line, of one or more lines, for bash.",
    },
  },
  required: ["command"],
  additionalProperties: false,
};

const ENDS: Readonly<Record<CommandEnd, string>> = {
  time: `it took longer than ${TIME_MS / 1_000} s`,
  memory: "it needed more than 512 MiB of memory",
  output: "it wrote more than 16 MiB of output",
  disk: "it took too much of the disk's free space",
};

/** Creates the tool that runs commands in the workspace. */
export function createExecuteShell(shell: Shell): Tool {
  return {
    name: "execute_shell",
    description:
      `Runs a shell command on the server in a sandbox and returns its output and exit code. It starts in ` +
      `${WORKSPACE_IN_SANDBOX}, the folder of the file connection 'workspace', whose files it may read and change; ` +
      "everything else but /tmp is read-only, and what is in /tmp is gone afterwards. There is no network. It may take " +
      `${TIME_MS / 1_000} s, 512 MiB of memory and 64 processes; processes in the background end with it. Nothing is ` +
      "read from the standard input.",
    level: "full_auto",
    parameters: PARAMETERS,
    isAvailable: shell.isFor,
    async run({ command }, { signal }) {
      const text = String(command);
      if (text.includes("\0")) {
        throw new ServiceError("invalid_value", "A command has no NUL character.");
      }
      const limits = { timeMs: TIME_MS, outputBytes: OUTPUT_BYTES };
      const result = await shell.run(text, limits, signal);
      return { text: described(result), isError: result.endedFor !== undefined };
    },
  };
}

function described({ exitCode, endedFor, output }: CommandResult): string {
  const end =
    endedFor === undefined
      ? `Exit code ${exitCode}.`
      : `The command was ended because ${ENDS[endedFor]}.`;
  return output === "" ? `${end} It wrote no output.` : `${end} Output:\n${output}`;
}
