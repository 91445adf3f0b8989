ALTER TABLE `integrations` ADD `of_agent` text;--> statement-breakpoint
ALTER TABLE `policies` ADD `of_agent` text;