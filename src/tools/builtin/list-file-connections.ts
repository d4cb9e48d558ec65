import { ServiceError } from "../../core/service-error.ts";
import type { FileTools } from "../files/open-file-tools.ts";
import type { Tool, ToolContext } from "../tool.ts";

/** Creates the tool that names the folders whose files the assistant may read. */
export function createListFileConnections(files: FileTools): Tool {
  const describe = async (name: string, { assistant, signal }: ToolContext) => {
    try {
      await files.run({ kind: "check", place: files.choose(assistant, name) }, signal);
      return `${name}: its files can be read`;
    } catch (thrown) {
      signal.throwIfAborted();
      if (!(thrown instanceof ServiceError)) throw thrown;
      return `${name}: not available. ${thrown.message}`;
    }
  };
  return {
    name: "list_file_connections",
    description:
      "Lists the file connections: folders of the server whose files can be found with find_files, searched with " +
      "search_workspace and read with read_file. Call it first when a file is asked for.",
    level: "read_only",
    parameters: { type: "object", properties: {}, additionalProperties: false },
    isAvailable: (assistant) => files.connectionsOf(assistant).length > 0,
    async run(_args, context) {
      const connections = files.connectionsOf(context.assistant);
      const lines = await Promise.all(connections.map(({ name }) => describe(name, context)));
      return { text: lines.join("\n") };
    },
  };
}
