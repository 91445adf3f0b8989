// Types for the parts of OpenAPI 3.1 that the document uses.
import type { Method } from '../http/route';
import type { Schema, Schemas } from './examples';

export interface Ref {
  $ref: string;
}
export interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required?: boolean;
  description: string;
  schema: Schema;
  example?: unknown;
}
export interface Media {
  schema: Schema;
  example?: unknown;
}
export interface Answer {
  description: string;
  headers?: Record<string, Ref>;
  content?: Record<string, Media>;
}
export interface Operation {
  operationId: string;
  tags: string[];
  summary: string;
  description: string;
  /** If the path is not below the document's server. */
  servers?: { url: string }[];
  /** If it differs from the document's. */
  security?: Record<string, string[]>[];
  parameters?: (Parameter | Ref)[];
  requestBody?: { required: boolean; content: Record<string, Media> };
  responses: Record<string, Answer | Ref>;
}
/** The operations of a path by method, and the parameters that all of them take. */
export interface PathItem extends Partial<Record<Method, Operation>> {
  parameters?: (Parameter | Ref)[];
}
export interface Header {
  description: string;
  schema: Schema;
  example?: unknown;
}
export interface Components {
  schemas: Schemas;
  responses: Record<string, Answer>;
  parameters: Record<string, Parameter>;
  headers: Record<string, Header>;
  securitySchemes: Record<string, { type: 'http'; scheme: 'bearer' | 'dpop'; description: string }>;
}
export interface Document {
  openapi: string;
  info: {
    title: string;
    version: string;
    summary: string;
    description: string;
    license: { name: string; identifier: string };
  };
  servers: { url: string; description: string }[];
  security: Record<string, string[]>[];
  tags: { name: string; description: string }[];
  paths: Record<string, PathItem>;
  components: Components;
}
