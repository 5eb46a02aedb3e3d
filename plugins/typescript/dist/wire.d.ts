import type { MethodDefinition, ServiceDefinition } from "@grpc/grpc-js";
export declare const contractVersion = 1;
export declare const cookie: {
    key: string;
    value: string;
};
/** Bounds, in bytes. */
export declare const maxOutput: number;
export declare const maxMessage: number;
export declare const maxManifest: number;
export declare const maxSchema: number;
export declare const maxPiece: number;
export declare const partBytes: number;
export declare const maxFunctions = 1000;
export declare const maxMetrics = 50;
export declare const maxNeeds = 100;
/** Questions that may be open at a time. */
export declare const maxQuestions = 16;
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
    invoke?: {
        operation: string;
        input: Buffer;
    };
    openFile?: {
        file: string;
    };
    readFile?: {
        file: string;
        offset: number;
        length: number;
    };
    createFile?: {
        name: string;
        mediaType: string;
    };
    writeFile?: {
        file: string;
        data: Buffer;
    };
    closeFile?: {
        file: string;
    };
}
export interface CallEvent {
    progress?: {
        done: number;
        total: number;
        message: string;
        partial?: Buffer;
    };
    output?: Buffer;
    fault?: Buffer;
    part?: {
        size: number;
        data: Buffer;
    };
    question?: Question;
    measurement?: {
        metric: string;
        value: number;
    };
    span?: {
        name: string;
        startUnixNano: string;
        endUnixNano: string;
        failed: boolean;
    };
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
/** The service koan.plugin.v1.Plugin. */
export declare const pluginService: ServiceDefinition<import("@grpc/grpc-js").UntypedServiceImplementation>;
/** Returns how many bytes a manifest has. */
export declare function sizeOf(manifest: Manifest): number;
/** grpc.health.v1.Health, whose answer is HealthCheckResponse{status: SERVING}. */
export declare const healthService: {
    Check: MethodDefinition<Buffer<ArrayBufferLike>, Buffer<ArrayBufferLike>>;
};
/** The service by which go-plugin's host ends a plugin. */
export declare const controllerService: {
    Shutdown: MethodDefinition<Buffer<ArrayBufferLike>, Buffer<ArrayBufferLike>>;
};
