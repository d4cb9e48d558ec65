import { deflateRawSync } from "node:zlib";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { callGateway, openCall } from "../../support/clients/call-gateway.ts";
import { expectChatError } from "../../support/clients/expect-chat-error.ts";
import { callHttp, logIn } from "../../support/clients/http-session.ts";
import { formOf, postLicense, uploadText } from "../../support/clients/license-upload.ts";
import { startGateway, TEST_KEY, type TestGateway } from "../../support/servers/start-gateway.ts";
import { inDays, licenseText, vendor } from "../../support/stages/access/test-license.ts";

const PASSWORD = "the administrator's password";

describe("4.6 the license", () => {
  let gateway: TestGateway;
  let admin: string;
  let user: string;
  const get = (path: string, token?: string) =>
    callHttp(gateway.url, { path, ...(token !== undefined && { token }) });

  beforeAll(async () => {
    gateway = await startGateway({
      ADMIN_PASSWORD: PASSWORD,
      LICENSE_PUBLIC_KEY: vendor.publicKey,
      TRUST_PROXY: "1",
    });
    admin = await logIn(gateway.url, "admin", PASSWORD);
    const created = await callHttp(gateway.url, {
      method: "POST",
      path: "/api/admin/users",
      token: admin,
      body: { username: "user" },
    });
    const pending = await logIn(gateway.url, "user", created.body.password);
    const changed = await callHttp(gateway.url, {
      method: "POST",
      path: "/api/auth/password",
      token: pending,
      body: { current_password: created.body.password, new_password: "the user's own password" },
    });
    user = changed.body.token;
  });
  afterAll(() => gateway?.stop());

  it("GET /api/license tells a session what /v1/health tells of the license", async () => {
    for (const token of [admin, user]) {
      const { status, body } = await get("/api/license", token);
      expect(status).toBe(200);
      const healths = [(await get("/v1/health")).body, (await get("/api/health")).body];
      for (const health of healths) expect(health.license).toEqual(body);
      expect(Object.keys(body).sort()).toEqual([
        "days_left",
        "expires_at",
        "in_grace",
        "valid",
        "warning",
      ]);
    }
  });

  it.each([
    ["GET", "/api/license", [401, 403, 200, 200]],
    ["GET", "/api/license/details", [401, 403, 403, 200]],
    ["GET", "/api/license/device", [401, 403, 403, 200]],
    ["POST", "/api/license", [401, 403, 403, 415]],
  ] as const)(
    "%s %s answers nobody, a key, a user, an administrator: %j",
    async (method, path, statuses) => {
      const tokens = [undefined, TEST_KEY, user, admin];
      for (const [index, token] of tokens.entries()) {
        const answer = await callHttp(gateway.url, {
          method,
          path,
          ...(token !== undefined && { token }),
        });
        expect({ token: index, status: answer.status }).toEqual({
          token: index,
          status: statuses[index],
        });
      }
    },
  );

  it("GET /api/license/device tells the id that a license can be bound to", async () => {
    const { body } = await get("/api/license/device", admin);
    expect(body).toEqual({
      active: expect.stringMatching(/^dev_[0-9a-f]{32}$/),
      device_id: body.active,
    });
    const { status } = await uploadText(
      gateway.port,
      admin,
      licenseText({ device_id: body.active }),
    );
    expect(status).toBe(200);
  });

  it("POST /api/license puts the license in force at once and answers its state", async () => {
    const expires_at = inDays(77);
    const answer = await uploadText(gateway.port, admin, licenseText({ id: "lic_77", expires_at }));
    expect({ status: answer.status, body: answer.json() }).toEqual({
      status: 200,
      body: { valid: true, in_grace: false, expires_at, days_left: 77, warning: null },
    });
    expect((await get("/api/license", user)).body).toEqual(answer.json());
    expect((await get("/api/license/details", admin)).body).toMatchObject({
      source: "uploaded",
      kind: "subscription",
      id: "lic_77",
      customer: "A customer of the tests",
      max_users: 50,
      users: 2,
    });
  });

  it("takes any name of the field and any case of the extension", async () => {
    const content = licenseText({ max_users: 61 });
    for (const piece of [
      { name: "license", fileName: "MY LICENSE (1).LIC", content },
      { fileName: "résumé.lic", content },
      { disposition: "; filename=plain.lic", content },
      { disposition: "; filename*=UTF-8''na%C3%AFve.lic", content },
    ]) {
      expect((await postLicense(gateway.port, admin, formOf([piece]))).status).toBe(200);
    }
    const form = new FormData();
    form.set("file", new Blob([content]), "customer.lic");
    const headers = { authorization: `Bearer ${admin}` };
    const answer = await fetch(`${gateway.url}/api/license`, {
      method: "POST",
      headers,
      body: form,
    });
    expect(answer.status).toBe(200);
  });

  describe("L05 a wrong upload is refused and the current license stays", () => {
    let before: unknown;

    beforeEach(async () => {
      const upload = await uploadText(
        gateway.port,
        admin,
        licenseText({ id: "lic_stays", max_users: 64 }),
      );
      expect(upload.status).toBe(200);
      before = (await get("/api/license/details", admin)).body;
    });

    const expectKept = async () => {
      expect((await get("/api/license/details", admin)).body).toEqual(before);
      const { body } = await get("/api/admin/audit?limit=1", admin);
      return body.data[0];
    };
    const good = licenseText({ id: "lic_new" });

    it.each([
      ["another extension", [{ fileName: "license.txt", content: good }], /\.lic/],
      [
        "another extension behind the right one",
        [{ fileName: "license.lic.exe", content: good }],
        /\.lic/,
      ],
      ["no extension", [{ fileName: "lic", content: good }], /\.lic/],
      ["an empty name", [{ fileName: "", content: good }], /\.lic/],
      [
        "two files",
        [
          { fileName: "a.lic", content: good },
          { fileName: "b.lic", content: good },
        ],
        /more than one file/,
      ],
      ["no file", [], /no file/],
      ["a text field alone", [{ content: good }], /text field/],
      [
        "a text field beside the file",
        [
          { fileName: "a.lic", content: good },
          { name: "comment", content: "hello" },
        ],
        /text field/,
      ],
      ["an empty file", [{ fileName: "a.lic", content: "" }], /not a license/],
      ["a zip", [{ fileName: "a.lic", content: zipOf(good) }], /not a license/],
      ["a line end behind it", [{ fileName: "a.lic", content: `${good}\n` }], /not a license/],
      [
        "another vendor's signature",
        [{ fileName: "a.lic", content: `${good.slice(0, -4)}AAAA` }],
        /signature/,
      ],
      [
        "an expired license",
        [{ fileName: "a.lic", content: licenseText({ expires_at: inDays(-1) }) }],
        /expired/,
      ],
      [
        "a license for another device",
        [{ fileName: "a.lic", content: licenseText({ device_id: "dev_x" }) }],
        /device/,
      ],
    ])("with %s: 400", async (_, pieces, reason) => {
      const error = expectChatError(
        await postLicense(gateway.port, admin, formOf(pieces)),
        400,
        "invalid_value",
      );
      expect(error.message).toMatch(reason);
      expect(error.message).not.toMatch(/zod|openssl|lic_new/i);
      expect(await expectKept()).toMatchObject({
        action: "license.upload_refused",
        details: { code: "invalid_value", reason: error.message },
      });
    });

    it.each([
      ["JSON", JSON.stringify({ license: good }), { "content-type": "application/json" }],
      ["the bare file", good, { "content-type": "application/octet-stream" }],
      ["no content type", good, { "content-type": undefined }],
      ["a form without its boundary", good, { "content-type": "multipart/form-data" }],
      [
        "a compressed form",
        formOf([{ fileName: "a.lic", content: good }]),
        { "content-encoding": "gzip" },
      ],
    ])("as %s: 415", async (_, body, headers) => {
      const answer = await postLicense(gateway.port, admin, body, headers);
      expectChatError(answer, 415, "unsupported_media_type");
      await expectKept();
    });

    it("that breaks off, or whose boundary is another: 400", async () => {
      const form = formOf([{ fileName: "a.lic", content: good }]);
      for (const body of [form.subarray(0, -10), "", "--another\r\n"]) {
        expectChatError(await postLicense(gateway.port, admin, body), 400, "invalid_value");
      }
      await expectKept();
    });

    it("of a file that is larger than a license can be: 413", async () => {
      const pieces = [{ fileName: "a.lic", content: Buffer.alloc(17_000, "A") }];
      expectChatError(
        await postLicense(gateway.port, admin, formOf(pieces)),
        413,
        "request_too_large",
      );
      await expectKept();
    });

    it("of 100 MB: 413 before it is read, announced or not", async () => {
      const announced = await openCall(gateway.port, {
        path: "/api/license",
        headers: {
          authorization: `Bearer ${admin}`,
          "content-type": "multipart/form-data; boundary=b",
          "content-length": "100000000",
        },
      });
      expectChatError(await announced.readResponse({ method: "POST" }), 413, "request_too_large");
      announced.close();
      const chunked = await openCall(gateway.port, {
        path: "/api/license",
        headers: {
          authorization: `Bearer ${admin}`,
          "content-type": "multipart/form-data; boundary=b",
          "transfer-encoding": "chunked",
        },
      });
      chunked.send(`10000\r\n${"A".repeat(0x10000)}\r\n`);
      expectChatError(await chunked.readResponse({ method: "POST" }), 413, "request_too_large");
      chunked.close();
      await expectKept();
    });
  });

  it("answers other methods with 405", async () => {
    const headers = { authorization: `Bearer ${admin}` };
    const answer = await callGateway(gateway.port, {
      method: "PUT",
      path: "/api/license",
      headers,
    });
    expectChatError(answer, 405, "method_not_allowed");
  });
});

describe("a start with LICENSE_PUBLIC_KEY", () => {
  it("is refused outside of development and tests, and says where a build has its key", async () => {
    const settings = { LICENSE_PUBLIC_KEY: vendor.publicKey, ALLOW_LICENSE_PUBLIC_KEY: "0" };
    await expect(startGateway(settings)).rejects.toThrow(
      /LICENSE_PUBLIC_KEY .* in development and tests only\. Unset it; .*verification-key\.ts/,
    );
  });

  it("is refused by that name when it is no key", async () => {
    await expect(startGateway({ LICENSE_PUBLIC_KEY: "nonsense" })).rejects.toThrow(
      /LICENSE_PUBLIC_KEY must be an Ed25519 public key/,
    );
  });
});

/** A zip archive of one file, as far as a reader of its beginning sees. */
function zipOf(text: string): Buffer {
  const packed = deflateRawSync(text);
  const head = Buffer.alloc(30);
  head.writeUInt32LE(0x04034b50, 0);
  head.writeUInt16LE(8, 8);
  head.writeUInt32LE(packed.length, 18);
  head.writeUInt32LE(text.length, 22);
  head.writeUInt16LE(11, 26);
  return Buffer.concat([head, Buffer.from("license.lic"), packed]);
}
