ALTER TABLE `approvals` ADD `environments` text;--> statement-breakpoint
ALTER TABLE `members` ADD `environments` text;