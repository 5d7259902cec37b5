package io.leasehold.spi.toolkit;

import io.leasehold.UnsafeStoreException;

/**
 * The number that every client of a store adds to the store's own numbers to make fencing tokens. It stands beside the locks,
 * where the first client writes it and all others compare it. Immutable.
 *
 * @param value the number
 * @param store the store, for messages
 */
public record TokenBase(long value, String store) {

    /** The text that is written beside the locks. */
    public String text() {
        return "tokenBase=" + value;
    }

    /**
     * Compares the text that stands there.
     *
     * @param place of the text, for messages: {@code key}, {@code node}
     * @param name of the place
     * @throws UnsafeStoreException if another client uses another number
     */
    public void compare(String found, String place, String name) {
        if (!found.equals(text())) {
            throw new UnsafeStoreException(
                    "tokenBase is " + value + " in the store URI, but " + place + " " + name + " at " + store
                            + " says \"" + found
                            + "\": with two bases, tokens of one lock would not increase. Use the same base in all clients;"
                            + " to raise it, stop them all, change the " + place + ", and start them with the new one",
                    null);
        }
    }
}
