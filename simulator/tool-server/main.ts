import { parseArgs } from "node:util";
import { TOOL_SERVER_MODES, type ToolServerMode } from "./answer-message.ts";
import { startToolServer, type ToolServerOptions } from "./tool-server.ts";

const usage = `usage: main.ts [--port 0] [--mode modern] [--tools echo,add] [--page-size 100] [--token word]
modes: ${TOOL_SERVER_MODES.join(", ")}
lines on its standard input: change, release, forget, mode NAME, fail STATUS, stop, listen, requests`;

/** Reads the options of the command line. Throws an error that names the invalid one. */
function readOptions(): ToolServerOptions {
  const { values } = parseArgs({
    options: {
      port: { type: "string", default: "0" },
      mode: { type: "string", default: "modern" },
      tools: { type: "string" },
      "page-size": { type: "string", default: "100" },
      token: { type: "string" },
    },
  });
  return {
    port: readNumber("--port", values.port),
    mode: readMode(values.mode),
    tools: values.tools?.split(","),
    pageSize: readNumber("--page-size", values["page-size"]) || 1,
    token: values.token,
  };
}

function readMode(name: string | undefined): ToolServerMode {
  const mode = TOOL_SERVER_MODES.find((one) => one === name);
  if (mode === undefined) throw new Error(`--mode: ${name} is unknown`);
  return mode;
}

function readNumber(name: string, text: string): number {
  const number = Number(text);
  if (text === "" || !Number.isInteger(number) || number < 0) {
    throw new Error(`${name}: ${text} is not a whole number from 0`);
  }
  return number;
}

try {
  const server = await startToolServer(readOptions());
  process.stdout.write(`listening 127.0.0.1:${server.port}\n`);
  const commands: Readonly<Record<string, (word: string | undefined) => unknown>> = {
    change: () => server.change(),
    release: () => server.release(),
    forget: () => server.forgetSessions(),
    mode: (word) => server.speak(readMode(word)),
    fail: (word) => server.failWith(word === undefined ? undefined : readNumber("fail", word)),
    stop: () => server.stop(),
    listen: () => server.listen(),
    requests: () => process.stdout.write(`${JSON.stringify(server.requests(), null, 2)}\n`),
  };
  const obey = async (line: string) => {
    const [name = "", word] = line.trim().split(/\s+/);
    try {
      const command = commands[name];
      if (command === undefined) throw new Error(`unknown: ${line}`);
      await command(word);
    } catch (error) {
      process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    }
  };
  process.stdin.on("data", (text: Buffer) => {
    for (const line of text.toString().split("\n").filter(Boolean)) void obey(line);
  });
  const stop = () => {
    server.stop().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.on("SIGINT", stop);
  process.on("SIGTERM", stop);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${usage}\n`);
  process.exitCode = 2;
}
