ALTER TABLE `credentials` ADD `aws` text;--> statement-breakpoint
ALTER TABLE `reserved_secrets` ADD `stays` integer;--> statement-breakpoint
ALTER TABLE `reserved_secrets` ADD `description` text;--> statement-breakpoint
ALTER TABLE `reserved_secrets` ADD `request_token` text;--> statement-breakpoint
ALTER TABLE `secret_versions` ADD `binary` integer;--> statement-breakpoint
ALTER TABLE `secret_versions` ADD `request_token` text;--> statement-breakpoint
CREATE INDEX `secret_versions_token` ON `secret_versions` (`org_id`,`secret_id`,`request_token`) WHERE request_token is not null;--> statement-breakpoint
ALTER TABLE `secrets` ADD `binary` integer;--> statement-breakpoint
ALTER TABLE `secrets` ADD `unlabelled` integer;