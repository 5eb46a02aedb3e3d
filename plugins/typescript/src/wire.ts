// The contract: the messages of plugin.proto, as the loader makes them, and its bounds.

import { fileURLToPath } from "node:url";
import type { GrpcObject, MethodDefinition, ServiceDefinition } from "@grpc/grpc-js";
import { loadPackageDefinition } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";

export const contractVersion = 1;
export const cookie = { key: "KOAN_PLUGIN", value: "koan.plugin.v1" };

/** Bounds, in bytes. */
export const maxOutput = 4 << 20;
export const maxMessage = (24 << 20) + (1 << 16);
export const maxManifest = 1 << 20;
export const maxSchema = 256 << 10;
export const maxPiece = 1 << 20;
export const partBytes = 30 << 10;

export const maxFunctions = 1000;
export const maxMetrics = 50;
export const maxNeeds = 100;
/** Questions that may be open at a time. */
export const maxQuestions = 16;

export interface CallRequest {
  function: string;
  input: Buffer;
  callId: string;
  key: string;
  deadlineUnixMs: number;
  dryRun: boolean;
  set: string;
  trace: string;
  parts: boolean;
  local: boolean;
  subject: string;
  scopes: string[];
  sets: string[];
  /** How long the output may be, 0 for maxOutput. */
  maxOutputBytes: number;
  /** The app takes measurements and spans. */
  observed: boolean;
}

export interface File {
  file: string;
  name: string;
  mediaType: string;
  size: number;
}

export interface Answer {
  id: number;
  result?: "output" | "fault" | "file" | "data";
  output?: Buffer;
  fault?: Buffer;
  file?: File;
  data?: Buffer;
}

export interface HostMessage {
  message?: "call" | "answer";
  call?: CallRequest;
  answer?: Answer;
}

export interface Question {
  id: number;
  invoke?: { operation: string; input: Buffer };
  openFile?: { file: string };
  readFile?: { file: string; offset: number; length: number };
  createFile?: { name: string; mediaType: string };
  writeFile?: { file: string; data: Buffer };
  closeFile?: { file: string };
}

export interface CallEvent {
  progress?: { done: number; total: number; message: string; partial?: Buffer };
  output?: Buffer;
  fault?: Buffer;
  part?: { size: number; data: Buffer };
  question?: Question;
  measurement?: { metric: string; value: number };
  span?: { name: string; startUnixNano: string; endUnixNano: string; failed: boolean };
}

export interface Manifest {
  contractVersion: number;
  domain: string;
  version: string;
  description: string;
  functions: object[];
  settings: object[];
  faultCodes: string[];
  needs: string[];
  converses: boolean;
  keepsState: boolean;
  metrics: object[];
}

export interface ConfigureRequest {
  settings: Record<string, string>;
  stateDir: string;
}

interface Client {
  service: ServiceDefinition;
}

const definition = loadSync(fileURLToPath(new URL("../plugin.proto", import.meta.url)), { longs: Number, defaults: true, oneofs: true, arrays: true, objects: true });
const loaded = loadPackageDefinition(definition) as unknown as { koan: { plugin: { v1: GrpcObject & { Plugin: Client } } } };

/** The service koan.plugin.v1.Plugin. */
export const pluginService = loaded.koan.plugin.v1.Plugin.service;

/** Returns how many bytes a manifest has. */
export function sizeOf(manifest: Manifest): number {
  const describe = pluginService.Describe as MethodDefinition<object, Manifest>;
  return describe.responseSerialize(manifest).length;
}

function unary(path: string, answer: Buffer): MethodDefinition<Buffer, Buffer> {
  return {
    path,
    requestStream: false,
    responseStream: false,
    requestSerialize: (message) => message,
    requestDeserialize: (bytes) => bytes,
    responseSerialize: () => answer,
    responseDeserialize: (bytes) => bytes,
  };
}

/** grpc.health.v1.Health, whose answer is HealthCheckResponse{status: SERVING}. */
export const healthService = { Check: unary("/grpc.health.v1.Health/Check", Buffer.from([8, 1])) };

/** The service by which go-plugin's host ends a plugin. */
export const controllerService = { Shutdown: unary("/plugin.GRPCController/Shutdown", Buffer.alloc(0)) };
