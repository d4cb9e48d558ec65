import { createHmac } from "node:crypto";
import { createServer, type Socket } from "node:net";
import { headerOf, RequestReader } from "../../../simulator/http/request-reader.ts";

/** One post, as it came. */
export interface WebhookPost {
  readonly path: string;
  readonly header: (name: string) => string | undefined;
  /** The event: the same at every try. */
  readonly id: string;
  readonly body: string;
  readonly json: { readonly text: string; readonly type: string; readonly details: object };
  readonly receivedAt: number;
  readonly socket: Socket;
}

/** Answers a post in whatever way, or not at all. */
export type AnswerPost = (post: WebhookPost) => void;

export interface WebhookReceiver {
  readonly url: string;
  readonly port: number;
  readonly posts: () => readonly WebhookPost[];
  /** How posts are answered from now on; 204 at first. */
  readonly use: (answer: AnswerPost) => void;
  /** Posts that wait for an answer at this moment, and the most that ever did of the same event. */
  readonly mostAtOnce: (eventId: string) => number;
  readonly stop: () => Promise<void>;
}

/** Answers with a status, further header lines and a body. */
export function answer(status: number, lines: readonly string[] = [], body = ""): AnswerPost {
  const head = [`HTTP/1.1 ${status} Status`, `content-length: ${body.length}`, ...lines];
  return ({ socket }) => void socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
}

/** The signature that Standard Webhooks demands of a post. */
export function signatureOf(post: WebhookPost, key: Buffer): string {
  const content = `${post.id}.${post.header("webhook-timestamp")}.${post.body}`;
  return `v1,${createHmac("sha256", key).update(content).digest("base64")}`;
}

/** A receiver of webhooks on loopback that does with a post whatever the test says. */
export async function startWebhookReceiver(): Promise<WebhookReceiver> {
  const posts: WebhookPost[] = [];
  const atOnce = new Map<string, { now: number; most: number }>();
  const sockets = new Set<Socket>();
  let answerPost: AnswerPost = answer(204);

  const receive = (post: WebhookPost) => {
    posts.push(post);
    const count = atOnce.get(post.id) ?? { now: 0, most: 0 };
    count.now += 1;
    count.most = Math.max(count.most, count.now);
    atOnce.set(post.id, count);
    post.socket.once("close", () => {
      count.now -= 1;
    });
    answerPost(post);
  };
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.once("close", () => sockets.delete(socket));
    const reader = new RequestReader();
    socket.on("data", (bytes: Buffer) => {
      reader.push(bytes);
      const request = reader.next(() => {});
      if (request === undefined) return;
      const header = (name: string) => headerOf(request, name);
      const body = request.body.toString("utf8");
      const id = header("webhook-id") ?? "";
      const { path } = request;
      const json = JSON.parse(body) as WebhookPost["json"];
      receive({ path, header, id, body, json, receivedAt: Date.now(), socket });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}/hook`,
    port,
    posts: () => posts,
    use: (next) => {
      answerPost = next;
    },
    mostAtOnce: (eventId) => atOnce.get(eventId)?.most ?? 0,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
