import type { BuiltInView } from "../data-view.ts";

export const users: BuiltInView = {
  name: "users",
  comment: "Users that exist now.",
  columns: [
    {
      name: "id",
      type: "text",
      comment: "Id of the user, the owner_id of other tables.",
      nullable: false,
    },
    { name: "name", type: "text", comment: "Name that the user logs in with.", nullable: false },
    { name: "role", type: "text", comment: "admin or user.", nullable: false },
    { name: "state", type: "text", comment: "active or disabled.", nullable: false },
    {
      name: "created_at",
      type: "timestamp with time zone",
      comment: "When the user was created.",
      nullable: false,
    },
  ],
  key: ["id"],
  select: `select id, username as name, role, state, created_at from users`,
  extent: `select count(*) as rows, null::timestamptz as updated_at from users`,
  copied: { kind: "whole" },
};
