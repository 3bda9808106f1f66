-- Orders that vanished from the shop, or whose push ended in an error, while removals of them were held back: nothing was to be removed
-- any more, but they still counted as held back, and a later deletion of them was never carried out.
update sync.order_links set removals_held = false where removals_held and removals_wanted = 0;
