// Types for the parts of OpenAPI 3.1 that the document uses.
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
  examples?: Record<string, Ref>;
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
  security: Record<string, string[]>[];
  parameters?: (Parameter | Ref)[];
  requestBody?: { required: boolean; description: string; content: Record<string, Media> };
  responses: Record<string, Answer>;
}
export interface Header {
  description: string;
  schema: Schema;
  example?: unknown;
}
export interface Components {
  schemas: Schemas;
  parameters: Record<string, Parameter>;
  headers: Record<string, Header>;
  examples: Record<string, { summary: string; value: unknown }>;
  securitySchemes: Record<string, { type: 'http'; scheme: 'bearer' | 'dpop'; description: string }>;
}
export interface Document {
  openapi: string;
  info: { title: string; version: string; summary: string; description: string; license: { name: string; identifier: string } };
  servers: { url: string; description: string }[];
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: Components;
}
