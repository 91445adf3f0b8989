// The product's mark.
export const Mark = ({ size = 24 }: { size?: number }) => (
  <svg width={size} height={size} viewBox="0 0 32 32" aria-hidden="true" class="mark">
    <rect width="32" height="32" rx="7" class="mark-ground" />
    <path
      d="M16 6.5l8 3.2v6.100c0 4.900-3.300 8.200-8 9.900-4.700-1.700-8-5-8-9.900V9.700z"
      class="mark-line"
    />
    <circle cx="16" cy="14.500" r="2.400" class="mark-fill" />
    <path d="M16 16v4.500" class="mark-line" />
  </svg>
);
