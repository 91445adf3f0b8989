ALTER TABLE `credentials` ADD `confirmed_at` integer;--> statement-breakpoint
ALTER TABLE `secret_versions` ADD `generated` integer;--> statement-breakpoint
ALTER TABLE `secrets` ADD `generated` integer;