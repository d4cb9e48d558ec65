import { describe, expect, it } from "vitest";
import { type ClaimSettings, readPerson } from "../../../src/access/sign-in/read-person.ts";
import type { JsonObject } from "../../../src/lib/json/json.ts";

const SETTINGS: ClaimSettings = {
  OIDC_USERNAME_CLAIM: undefined,
  OIDC_ADMIN_CLAIM: "groups",
  OIDC_ADMIN_VALUES: ["gateway-admins"],
  OIDC_ALLOWED_VALUES: ["staff"],
};
const ACCOUNT = { iss: "https://login.example.com", sub: "248289761001" };
const read = (claims: JsonObject, changes: Partial<ClaimSettings> = {}) =>
  readPerson({ ...ACCOUNT, preferred_username: "Ada", ...claims }, { ...SETTINGS, ...changes });
const refusal = (setting: string) =>
  expect.objectContaining({
    reason: "unusable_claims",
    message: expect.stringContaining(setting),
    details: expect.objectContaining({ setting }),
  });

describe("the claims of a sign-in", () => {
  it("give the account, a name in lower case and a role", () => {
    expect(read({ groups: ["staff", "gateway-admins"] })).toEqual({
      issuer: ACCOUNT.iss,
      subject: ACCOUNT.sub,
      username: "ada",
      role: "admin",
      isAllowed: true,
    });
    expect(read({ groups: "staff" })).toMatchObject({ role: "user", isAllowed: true });
    expect(read({ groups: ["others"] })).toMatchObject({ role: "user", isAllowed: false });
    expect(read({})).toMatchObject({ role: "user", isAllowed: false });
  });

  it("are found by a path, as Keycloak nests its roles", () => {
    const nested = { OIDC_ADMIN_CLAIM: "realm_access.roles" };
    const roles = { roles: ["gateway-admins"] };
    expect(read({ realm_access: roles }, nested)).toMatchObject({ role: "admin" });
    expect(read({ realm_access: "gateway-admins" }, nested)).toMatchObject({ isAllowed: false });
    expect(read({ realm_access: null }, nested)).toMatchObject({ isAllowed: false });
    const deeper = { OIDC_ADMIN_CLAIM: "resource_access.gateway.roles" };
    expect(read({ resource_access: { gateway: roles } }, deeper)).toMatchObject({ role: "admin" });
  });

  it("are found by their whole name first, which may have dots and slashes", () => {
    const name = "https://example.com/claims/groups";
    expect(read({ [name]: ["staff"] }, { OIDC_ADMIN_CLAIM: name }).isAllowed).toBe(true);
    const both = { "a.b": ["staff"], a: { b: ["gateway-admins"] } };
    expect(read(both, { OIDC_ADMIN_CLAIM: "a.b" })).toMatchObject({ role: "user" });
    expect(read({}, { OIDC_ADMIN_CLAIM: "__proto__.constructor" }).isAllowed).toBe(false);
  });

  it("that the provider sent as a reference, as Entra does of many groups, are refused by name", () => {
    const overage = {
      _claim_names: { groups: "src1" },
      _claim_sources: { src1: { endpoint: "https://graph.example.com/groups" } },
    };
    expect(() => read(overage)).toThrow(refusal("OIDC_ADMIN_CLAIM"));
    expect(read({ _claim_names: { other: "src1" } }).isAllowed).toBe(false);
  });

  it("name a user by the mail where there is no name, or by the claim that is set", () => {
    const mail = { preferred_username: undefined, email: "ada@example.com", groups: ["staff"] };
    expect(read(mail as unknown as JsonObject).username).toBe("ada@example.com");
    expect(read({ upn: "ada.l" }, { OIDC_USERNAME_CLAIM: "upn" }).username).toBe("ada.l");
    expect(() => read({}, { OIDC_USERNAME_CLAIM: "upn" })).toThrow(refusal("OIDC_USERNAME_CLAIM"));
  });

  it("decide no role where no value is set, and let everybody in where no claim is", () => {
    const open = { OIDC_ADMIN_VALUES: [], OIDC_ALLOWED_VALUES: [] };
    expect(read({ groups: ["others"] }, open)).toMatchObject({ role: undefined, isAllowed: true });
    const none = { OIDC_ADMIN_CLAIM: undefined };
    expect(read({ groups: { staff: 1 } }, none)).toMatchObject({
      role: undefined,
      isAllowed: true,
    });
  });

  it.each([
    ["no subject", { sub: undefined }],
    ["an empty subject", { sub: "" }],
    ["a subject that is a number", { sub: 1 }],
    ["a subject beyond ASCII", { sub: "а1" }],
    ["a long subject", { sub: "a".repeat(256) }],
    ["an issuer that is a list", { iss: ["https://login.example.com"] }],
  ])("with %s identify nobody", (_, claims) => {
    expect(() => read(claims as unknown as JsonObject)).toThrow(refusal("OIDC_ISSUER"));
  });
});
