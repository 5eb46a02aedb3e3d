// The contract: the messages of plugin.proto, as the loader makes them, and its bounds.
import { fileURLToPath } from "node:url";
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
const definition = loadSync(fileURLToPath(new URL("../plugin.proto", import.meta.url)), { longs: Number, defaults: true, oneofs: true, arrays: true, objects: true });
const loaded = loadPackageDefinition(definition);
/** The service koan.plugin.v1.Plugin. */
export const pluginService = loaded.koan.plugin.v1.Plugin.service;
/** Returns how many bytes a manifest has. */
export function sizeOf(manifest) {
    const describe = pluginService.Describe;
    return describe.responseSerialize(manifest).length;
}
function unary(path, answer) {
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
