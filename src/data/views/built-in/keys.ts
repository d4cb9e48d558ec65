import type { BuiltInView } from "../data-view.ts";

export const keys: BuiltInView = {
  name: "keys",
  comment:
    "API keys (sk-) that exist now, without their secrets. A deleted key is only in the usage.",
  columns: [
    {
      name: "id",
      type: "text",
      comment: "Id of the key, the key_id of other tables.",
      nullable: false,
    },
    { name: "name", type: "text", comment: "Its name.", nullable: false },
    { name: "state", type: "text", comment: "active or inactive.", nullable: false },
    { name: "owner_id", type: "text", comment: "Id of its owner, as in users.", nullable: false },
    { name: "owner", type: "text", comment: "Name of its owner.", nullable: false },
    {
      name: "assistant_id",
      type: "text",
      comment: "Id of the only assistant that it may call.",
      nullable: true,
    },
    {
      name: "monthly_token_limit",
      type: "bigint",
      comment: "Input and output tokens in a UTC month; empty is unlimited.",
      nullable: true,
    },
    {
      name: "request_limit",
      type: "bigint",
      comment: "Requests over the life of the key; empty is unlimited.",
      nullable: true,
    },
    {
      name: "rpm_limit",
      type: "bigint",
      comment: "Requests in any 60 seconds; empty is unlimited.",
      nullable: true,
    },
    {
      name: "token_limit",
      type: "bigint",
      comment: "Input and output tokens over the life of the key; empty is unlimited.",
      nullable: true,
    },
    {
      name: "created_at",
      type: "timestamp with time zone",
      comment: "When it was created.",
      nullable: false,
    },
    {
      name: "expires_at",
      type: "timestamp with time zone",
      comment: "When it expires; empty is never.",
      nullable: true,
    },
    {
      name: "last_used_at",
      type: "timestamp with time zone",
      comment: "When it was last used, to a minute or so.",
      nullable: true,
    },
  ],
  key: ["id"],
  select: `select api_keys.id, api_keys.name, api_keys.state, api_keys.owner_id, users.username as owner, api_keys.assistant_id,
    api_keys.monthly_token_limit, api_keys.request_limit, api_keys.rpm_limit, api_keys.token_limit, api_keys.created_at,
    api_keys.expires_at, api_keys.last_used_at
  from api_keys left join users on users.id = api_keys.owner_id`,
  extent: `select count(*) as rows, null::timestamptz as updated_at from api_keys`,
  copied: { kind: "whole" },
};
