// The official packages for Node behind one interface: reads one JSON request per line and writes one JSON answer per line.
//
//     node sdk.mjs FOLDER      FOLDER holds `node_modules`; `sdk.py` installs the packages and starts this program
//
// A request is {id, kind, url, retries, do, params}: `kind` is chat, responses, messages or gemini, `do` is ask, stream, read,
// count or models. An object of a package stays here under a handle; {"$native": HANDLE} in `params` puts the object back.
import { createRequire } from "node:module";
import { AsyncLocalStorage } from "node:async_hooks";
import path from "node:path";
import readline from "node:readline";
import { pathToFileURL } from "node:url";

const folder = path.resolve(process.argv[2] ?? ".");
const require = createRequire(path.join(folder, "index.js"));
const load = async (name) => import(pathToFileURL(require.resolve(name)).href);
const { default: OpenAI } = await load("openai");
const { default: Anthropic } = await load("@anthropic-ai/sdk");
const { GoogleGenAI } = await load("@google/genai");

// The headers of the last response of each request.
const seen = new AsyncLocalStorage();
const plainFetch = globalThis.fetch;
const fetchAndKeep = async (...values) => {
  const response = await plainFetch(...values);
  const store = seen.getStore();
  if (store) store.headers = Object.fromEntries(response.headers);
  return response;
};
globalThis.fetch = fetchAndKeep;

const natives = new Map();
const keep = (native) => {
  natives.set(String(natives.size), native);
  return String(natives.size - 1);
};
// Handles become the objects of the package again; an array becomes several entries of its list.
const restored = (value) => {
  if (Array.isArray(value)) return value.flatMap((one) => (one?.$native !== undefined ? natives.get(one.$native) : [restored(one)]));
  if (value?.$native !== undefined) return natives.get(value.$native);
  if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, restored(one)]));
  return value;
};

const answers = {
  chat: (answer) => ({ native: answer.choices[0].message, text: answer.choices[0].message.content ?? "" }),
  responses: (answer) => ({ native: answer.output, text: answer.output_text }),
  messages: (answer) => ({ native: answer.content, text: answer.content.filter((b) => b.type === "text").map((b) => b.text).join("") }),
  gemini: (answer) => {
    const content = answer.candidates[0].content;
    return { native: content, text: (content.parts ?? []).filter((p) => p.text && !p.thought).map((p) => p.text).join("") };
  },
};
const got = (kind, answer) => {
  const { native, text } = answers[kind](answer);
  return { handle: keep(native), text, dump: JSON.parse(JSON.stringify(answer)) };
};

const clients = new Map();
const client = (kind, url, maxRetries) => {
  const name = `${kind} ${url} ${maxRetries}`;
  if (!clients.has(name)) {
    const same = { apiKey: "of-the-client", maxRetries, timeout: 30_000, fetch: fetchAndKeep };
    const made = {
      chat: () => new OpenAI({ baseURL: `${url}/v1`, ...same }),
      responses: () => new OpenAI({ baseURL: `${url}/v1`, ...same }),
      messages: () => new Anthropic({ baseURL: url, ...same }),
      gemini: () => {
        const retryOptions = maxRetries ? { attempts: maxRetries + 1, initialDelay: 1, jitter: 0 } : undefined;
        return new GoogleGenAI({ apiKey: "of-the-client", httpOptions: { baseUrl: url, timeout: 30_000, retryOptions } });
      },
    };
    clients.set(name, made[kind]());
  }
  return clients.get(name);
};

const joined = (chunks) => {
  const parts = chunks.flatMap((chunk) => chunk.candidates?.[0]?.content?.parts ?? []);
  const kept = parts.filter((part) => part.text !== "" || part.thoughtSignature || part.functionCall);
  const finishReason = chunks.map((chunk) => chunk.candidates?.[0]?.finishReason).findLast(Boolean);
  const usageMetadata = chunks.map((chunk) => chunk.usageMetadata).findLast(Boolean);
  return { modelVersion: chunks[0].modelVersion, candidates: [{ content: { role: "model", parts: kept }, finishReason }], usageMetadata };
};
const collect = async (stream) => {
  const all = [];
  for await (const one of stream) all.push(one);
  return all;
};

// The package keeps only the last delta of members outside the official types, so that a program joins them itself.
const chatStream = async (c, params) => {
  const extra = {};
  const stream = c.chat.completions.stream({ ...params, stream_options: { include_usage: true } });
  stream.on("chunk", (chunk) => {
    for (const [key, value] of Object.entries(chunk.choices[0]?.delta ?? {})) {
      if (!key.startsWith("reasoning")) continue;
      if (typeof value === "string") extra[key] = (extra[key] ?? "") + value;
      for (const { index, ...detail } of Array.isArray(value) ? value : []) {
        const one = ((extra[key] ??= [])[index] ??= { index });
        for (const [name, part] of Object.entries(detail)) one[name] = ["text", "data", "summary"].includes(name) ? (one[name] ?? "") + part : part;
      }
    }
  });
  const final = await stream.finalChatCompletion();
  Object.assign(final.choices[0].message, extra);
  return final;
};

const actions = {
  ask: async (kind, c, params) => {
    const create = {
      chat: () => c.chat.completions.create(params),
      responses: () => c.responses.create(params),
      messages: () => c.messages.create(params),
      gemini: () => c.models.generateContent(params),
    };
    return got(kind, await create[kind]());
  },
  stream: async (kind, c, params) => {
    const create = {
      chat: () => chatStream(c, params),
      responses: () => c.responses.stream(params).finalResponse(),
      messages: () => c.messages.stream(params).finalMessage(),
      gemini: async () => joined(await collect(await c.models.generateContentStream(params))),
    };
    return got(kind, await create[kind]());
  },
  read: async (kind, c, params) => {
    let text = "";
    let failure = null;
    try {
      const create = {
        chat: () => c.chat.completions.create({ ...params, stream: true }),
        responses: () => c.responses.create({ ...params, stream: true }),
        messages: () => c.messages.create({ ...params, stream: true }),
        gemini: () => c.models.generateContentStream(params),
      };
      for await (const event of await create[kind]()) {
        if (kind === "chat") text += event.choices.map((choice) => choice.delta.content ?? "").join("");
        else if (kind === "gemini") text += event.text ?? "";
        else if (event.type === "content_block_delta") text += event.delta.text ?? "";
        else if (event.type === "response.output_text.delta") text += event.delta;
        else if (event.type === "response.failed") failure = event.response.error.message;
        else if (event.type === "error") failure = event.message;
      }
    } catch (error) {
      failure = String(error?.message ?? error);
    }
    return { text, failure };
  },
  count: async (kind, c, { model, messages, input, contents }) => {
    if (kind === "messages") return (await c.messages.countTokens({ model, messages })).input_tokens;
    if (kind === "responses") return (await c.responses.inputTokens.count({ model, input })).input_tokens;
    return (await c.models.countTokens({ model, contents })).totalTokens;
  },
  models: async (kind, c) => {
    const all = await collect(await c.models.list());
    return all.map((model) => (kind === "gemini" ? model.name.replace(/^models\//, "") : model.id));
  },
};

const run = async ({ id, kind, url, retries, do: action, params }) => {
  const store = { headers: {} };
  const answer = await seen.run(store, async () => {
    try {
      return { value: await actions[action](kind, client(kind, url, retries), restored(params)) };
    } catch (error) {
      return { error: { kind: error?.constructor?.name ?? "unknown", status: error?.status ?? null, message: String(error?.message ?? error) } };
    }
  });
  process.stdout.write(JSON.stringify({ id, headers: store.headers, ...answer }) + "\n");
};

for await (const line of readline.createInterface({ input: process.stdin })) {
  if (line.trim()) run(JSON.parse(line));
}
