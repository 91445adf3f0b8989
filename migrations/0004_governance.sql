CREATE TABLE `approvals` (
	`org_id` text NOT NULL,
	`id` text NOT NULL,
	`status` text NOT NULL,
	`operation` text NOT NULL,
	`action` text NOT NULL,
	`requester` text NOT NULL,
	`root` text NOT NULL,
	`accountable` text NOT NULL,
	`digest` text NOT NULL,
	`method` text NOT NULL,
	`path` text NOT NULL,
	`summary` text NOT NULL,
	`resource` text,
	`resource_name` text,
	`environment` text,
	`targets` text NOT NULL,
	`policies` text NOT NULL,
	`decisions` text NOT NULL,
	`reason` text,
	`request_id` text NOT NULL,
	`ip` text NOT NULL,
	`place` text,
	`user_agent` text,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`ended_at` integer,
	`used_by` text,
	`revision` integer NOT NULL,
	`mac` text NOT NULL,
	PRIMARY KEY(`org_id`, `id`)
);
--> statement-breakpoint
CREATE TABLE `audit_checkpoints` (
	`org_id` text NOT NULL,
	`sequence` integer NOT NULL,
	`hash` text NOT NULL,
	`time` integer NOT NULL,
	`key_id` text NOT NULL,
	`signature` text NOT NULL,
	PRIMARY KEY(`org_id`, `sequence`)
);
--> statement-breakpoint
CREATE TABLE `devices` (
	`org_id` text NOT NULL,
	`id` text NOT NULL,
	`name` text NOT NULL,
	`platform` text NOT NULL,
	`serial` text,
	`public_key` text,
	`member_id` text,
	`created_by` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`assigned_at` integer,
	`blocked_at` integer,
	`revision` integer NOT NULL,
	`mac` text NOT NULL,
	PRIMARY KEY(`org_id`, `id`)
);
--> statement-breakpoint
CREATE TABLE `policies` (
	`org_id` text NOT NULL,
	`id` text NOT NULL,
	`name` text NOT NULL,
	`kind` text NOT NULL,
	`enabled` integer NOT NULL,
	`environments` text,
	`types` text,
	`names` text,
	`config` text NOT NULL,
	`created_by` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`revision` integer NOT NULL,
	`mac` text NOT NULL,
	PRIMARY KEY(`org_id`, `id`)
);
--> statement-breakpoint
ALTER TABLE `credentials` ADD `accountable` text;--> statement-breakpoint
ALTER TABLE `credentials` ADD `device_id` text;--> statement-breakpoint
ALTER TABLE `members` ADD `connections` text;--> statement-breakpoint
ALTER TABLE `orgs` ADD `audit_retention_days` integer;--> statement-breakpoint
ALTER TABLE `secrets` ADD `rotated_at` integer;--> statement-breakpoint
ALTER TABLE `secrets` ADD `auto_rotate` integer;--> statement-breakpoint
ALTER TABLE `team_members` ADD `accountable` text;