import { ServiceError } from "../../core/service-error.ts";
import { nameKey } from "../../knowledge/assistants/name-key.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import type { SavedConnection, SavedConnections, TableShape } from "../connections/connection.ts";
import { usableConnections } from "../connections/usable-connections.ts";
import type { Tool } from "../tool.ts";

const LIST_MY_CONNECTIONS = "list_my_connections";

const MAX_NAME_CHARACTERS = 64;
const NAMES_SHOWN = 20;

const PARAMETERS: JsonObject = {
  type: "object",
  properties: {
    name: {
      type: "string",
      minLength: 1,
      maxLength: MAX_NAME_CHARACTERS,
      description: "The name of a connection, to see its tables and columns.",
    },
  },
  additionalProperties: false,
};

/** Creates the tool that shows the saved connections of the assistant, and what is in one of them. */
export function createListMyConnections(saved: SavedConnections): Tool {
  return {
    name: LIST_MY_CONNECTIONS,
    description:
      "Lists the databases that you may query, with their kinds and descriptions. With a name: the tables and views of " +
      "that database with their columns and types. Use it before you write SQL.",
    level: "read_only",
    parameters: PARAMETERS,
    isAvailable: ({ sqlConnections }) => sqlConnections.length > 0,
    async run({ name }, { assistant, caller, signal }) {
      const usable = usableConnections(saved, assistant, caller);
      if (typeof name !== "string") {
        const text =
          usable.length === 0 ? "There is no database here." : usable.map(listed).join("\n");
        return { text };
      }
      const connection = usable.find((one) => nameKey(one.name) === nameKey(name));
      if (connection === undefined) throw unknownConnection(name, usable);
      const tables = await saved.describe(connection, signal);
      if (tables.length === 0) return { text: `'${connection.name}' has no tables to read.` };
      return { text: [listed(connection), ...tables.map(shape)].join("\n") };
    },
  };
}

function listed({ name, kind, description }: SavedConnection): string {
  return description === null ? `${name} (${kind})` : `${name} (${kind}): ${description}`;
}

function shape({ name, columns }: TableShape): string {
  return `${name}(${columns.map((column) => `${column.name} ${column.type}`.trim()).join(", ")})`;
}

/** The same for one that does not exist and one that may not be used. */
function unknownConnection(name: string, usable: readonly SavedConnection[]): ServiceError {
  const names = usable.slice(0, NAMES_SHOWN).map((one) => `'${one.name}'`);
  const known = names.length === 0 ? "There is none here." : `There is ${names.join(", ")}.`;
  return new ServiceError("not_found", `There is no connection '${name}'. ${known}`);
}
