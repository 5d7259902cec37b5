package io.leasehold.spi.toolkit;

import io.leasehold.UnsafeStoreException;

/**
 * The rule by which every client of a store makes fencing tokens of the store's own revisions. The store keeps its text
 * next to the locks: the first client writes it, and all others compare it. Immutable.
 *
 * @param value the number that is added
 * @param readers whether locks have readers. Then each revision has 16 tokens, since a writer that
 *     becomes a reader keeps its entry and needs a larger token, which is below that of the next entry
 * @param store the store, for messages
 */
public record TokenBase(long value, boolean readers, String store) {

    private static final int GENERATIONS = 16;

    /** The text that is stored next to the locks. */
    public String text() {
        return "tokenBase=" + value + (readers ? " readers=true" : "");
    }

    /**
     * The token of an entry.
     *
     * @param revision the revision of its creation
     * @param generation how often its hold was converted, 0 to 15
     */
    public long token(long revision, int generation) {
        return readers ? value + GENERATIONS * revision + generation : value + revision;
    }

    /**
     * Compares the stored text.
     *
     * @param place the kind of its place, for messages: {@code key}, {@code node}
     * @param name the name of the place
     * @throws UnsafeStoreException if another client uses another rule
     */
    public void compare(String found, String place, String name) {
        if (!found.equals(text())) {
            throw new UnsafeStoreException(
                    "tokenBase is " + value + " in the store URI, " + (readers ? "with" : "without")
                            + " readers=true, but " + place + " " + name + " at " + store + " says \"" + found
                            + "\": with two rules, tokens of one lock would not increase. Use the same in all clients;"
                            + " to raise it, stop them all, change the " + place + " to \"" + text()
                            + "\", and start them with the new one",
                    null);
        }
    }
}
