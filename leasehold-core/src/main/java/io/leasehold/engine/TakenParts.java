package io.leasehold.engine;

import io.leasehold.Hold;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * The parts that an attempt on several holds has acquired so far, and those that it is releasing. Once the attempt needs
 * no more, each further part is released at once.
 *
 * <p>{@code this} guards the fields that change; nothing is called inside the guard. Safe for use by any thread.
 *
 * @param <H> the kind of part
 */
final class TakenParts<H extends Hold> {

    private final List<H> taken = new ArrayList<>();
    private boolean closed;
    /** The undos and releases that have not been answered. */
    private CompletableFuture<?> leaving = CompletableFuture.completedFuture(null);

    /** Keeps a part. Returns false if no more is needed: the part is then released. */
    boolean keep(H part) {
        synchronized (this) {
            if (!closed) {
                taken.add(part);
                return true;
            }
        }
        leaves(UnseenHold.giveBack(part));
        return false;
    }

    synchronized List<H> all() {
        return List.copyOf(taken);
    }

    synchronized int size() {
        return taken.size();
    }

    /** Whether the attempt needs no more parts. */
    synchronized boolean isClosed() {
        return closed;
    }

    /** Releases all parts; {@code forGood} if the attempt needs no more. */
    void giveBack(boolean forGood) {
        List<H> parts;
        synchronized (this) {
            parts = List.copyOf(taken);
            taken.clear();
            closed |= forGood;
        }
        parts.forEach(part -> leaves(UnseenHold.giveBack(part)));
    }

    /** Counts an undo or a release as unanswered until it ends, however it ends. */
    synchronized void leaves(CompletableFuture<?> undoOrRelease) {
        leaving = CompletableFuture.allOf(leaving, undoOrRelease.handle((end, error) -> end));
    }

    /**
     * Completes, normally, when every undo so far has been answered or is no longer repeated, and every release has been
     * answered or has failed once: it is then repeated in the background, and the store forgets the part after its ttl.
     */
    synchronized CompletableFuture<?> leaving() {
        return leaving;
    }
}
