import type { ConsoleMessage, Page, Request } from "playwright-core";
import { sharedBrowser } from "./chromium.ts";
import type { ConsoleStage, Role } from "./console-stage.ts";

export interface Look {
  /** Undefined: nobody is signed in. */
  readonly role?: Role | undefined;
  /** CSS pixels. */
  readonly width?: number;
  readonly theme?: "light" | "dark";
  /** Answers every call with 503, except those about the session itself. */
  readonly isFailing?: boolean;
  /** What the address names is not there: calls for it are answered 404. */
  readonly isMissing?: boolean;
}

export interface ConsolePage {
  readonly page: Page;
  /** Opens a path below `/console` and waits until it shows what it is going to show. */
  readonly open: (path: string) => Promise<void>;
  /** Waits until no call is under way, nothing says it is busy, and there is a heading. */
  readonly settled: () => Promise<void>;
  /**
   * What went wrong so far: messages on the browser's console, errors, reports of the policy, requests to another
   * server. Empty for a good page.
   */
  readonly problems: () => readonly string[];
  readonly close: () => Promise<void>;
}

const HEIGHTS: Readonly<Record<number, number>> = { 1440: 900, 375: 812, 320: 640 };
/** A limit against a page that never settles; nothing is judged by it. */
const SETTLE_MS = 60_000;
/** Calls that answer who is here: a page without them is the page of somebody else. */
const OF_SESSION = /\/api\/auth\//;
/** The browser tells of every refused call in its own words. */
const REFUSED_CALL =
  /^Failed to load resource: the server responded with a status of (401|404|503)/;

/** Opens a tab of its own context: its cookies, storage and cache are nobody else's. */
export async function openConsolePage(
  stage: Pick<ConsoleStage, "url" | "signIn">,
  { role, width = 1_440, theme = "light", isFailing = false, isMissing = false }: Look = {},
): Promise<ConsolePage> {
  const browser = await sharedBrowser();
  const context = await browser.newContext({
    viewport: { width, height: HEIGHTS[width] ?? 800 },
    colorScheme: theme,
    reducedMotion: "reduce",
    hasTouch: width < 900,
    locale: "en-GB",
    timezoneId: "Europe/Berlin",
  });
  if (role !== undefined) await stage.signIn(context, role);
  const page = await context.newPage();
  page.setDefaultTimeout(SETTLE_MS);
  const isRefused = (call: string, status: string) => {
    const isOfSession = OF_SESSION.test(call);
    if (status === "401") return role === undefined && isOfSession;
    return (status === "404" ? isMissing : isFailing) && !isOfSession;
  };
  const watch = await watchPage(page, stage.url, isRefused);
  if (isFailing) await failCalls(page, stage.url);
  const settled = async () => {
    await page.locator("h1").first().waitFor();
    await watch.quiet(() => page.waitForFunction(isStill));
  };
  return {
    page,
    settled,
    async open(path) {
      await page.goto(`${stage.url}/console/${path}`);
      await settled();
    },
    problems: () => [...watch.problems],
    close: () => context.close(),
  };
}

/** Runs in the page. */
function isStill(): boolean {
  return document.querySelector('[aria-busy="true"], .skeleton') === null;
}

async function failCalls(page: Page, url: string): Promise<void> {
  await page.route(new RegExp(`^${url}/(api|v1)/`), (route) =>
    OF_SESSION.test(route.request().url())
      ? route.fallback()
      : route.fulfill({
          status: 503,
          headers: { "x-request-id": "req_of_a_failure" },
          json: {
            error: {
              message: "The database does not answer.",
              type: "overloaded_error",
              code: "overloaded",
              param: null,
            },
          },
        }),
  );
}

interface PageWatch {
  readonly problems: readonly string[];
  /** Waits until no call is under way before and after `check`. */
  readonly quiet: (check: () => Promise<unknown>) => Promise<void>;
}

async function watchPage(page: Page, url: string, isRefused: IsRefused): Promise<PageWatch> {
  const problems: string[] = [];
  const underWay = new Set<Request>();
  let waiting: (() => void)[] = [];
  const ended = (request: Request) => {
    underWay.delete(request);
    if (underWay.size > 0) return;
    for (const resolve of waiting) resolve();
    waiting = [];
  };
  page.on("console", (message) => {
    if (!isExpected(message, isRefused)) {
      problems.push(`console: ${message.type()}: ${message.text()} (${message.location().url})`);
    }
  });
  page.on("pageerror", (error) => problems.push(`error: ${error.stack ?? error.message}`));
  page.on("request", (request) => {
    if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(`${url}/`)) {
      problems.push(`request elsewhere: ${request.url()}`);
    }
    underWay.add(request);
  });
  page.on("requestfinished", ended);
  page.on("requestfailed", (request) => {
    ended(request);
    const reason = request.failure()?.errorText;
    // A page that is left ends its calls.
    if (reason !== "net::ERR_ABORTED") problems.push(`request failed: ${request.url()} ${reason}`);
  });
  await page.exposeFunction("reportViolation", (text: string) => {
    problems.push(`policy: ${text}`);
  });
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (event) => {
      const report = Reflect.get(window, "reportViolation") as (text: string) => void;
      report(`${event.violatedDirective} ${event.blockedURI} ${event.sourceFile} ${event.sample}`);
    });
  });
  const none = () =>
    underWay.size === 0
      ? Promise.resolve()
      : new Promise<void>((resolve) => {
          waiting.push(resolve);
        });
  return {
    problems,
    async quiet(check) {
      do {
        await none();
        await check();
      } while (underWay.size > 0);
    },
  };
}

type IsRefused = (call: string, status: string) => boolean;

function isExpected(message: ConsoleMessage, isRefused: IsRefused): boolean {
  const status = REFUSED_CALL.exec(message.text())?.[1];
  return status !== undefined && isRefused(message.location().url, status);
}
