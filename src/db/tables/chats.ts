import { boolean, customType, index, integer, pgTable, text, timestamp } from "drizzle-orm/pg-core";
import { users } from "./users.ts";

const moment = (name: string) => timestamp(name, { withTimezone: true, precision: 3 });
const bytes = customType<{ data: Uint8Array }>({ dataType: () => "bytea" });

/** Chats of the console. Everything that was said in them is sealed for their owner and id. */
export const chats = pgTable(
  "chats",
  {
    /** `chat_` and 22 base62 characters. */
    id: text("id").primaryKey(),
    ownerId: text("owner_id")
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    /** Raised by each save of the document. */
    revision: integer("revision").notNull().default(1),
    pinned: boolean("pinned").notNull().default(false),
    sealedTitle: text("sealed_title").notNull(),
    /** The document as JSON, sealed; never selected by a list. */
    sealedDocument: bytes("sealed_document").notNull(),
    /** Length of the document as JSON. */
    bytes: integer("bytes").notNull(),
    createdAt: moment("created_at").notNull(),
    /** The last save of the document. */
    updatedAt: moment("updated_at").notNull(),
  },
  (table) => [index("chats_owner_id_index").on(table.ownerId, table.updatedAt)],
);
