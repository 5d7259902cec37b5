package io.leasehold.spi.toolkit;

import io.leasehold.Credentials;
import io.leasehold.CredentialsProvider;
import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.LockRuntime;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;

/**
 * The source of a store's credentials: calls a {@link CredentialsProvider} on a callback thread, one call at a time for all
 * concurrent requests. Safe for use by any thread.
 */
public final class CredentialsDesk {

    /** The time limit for an answer. */
    private static final long PATIENCE_NANOS = 10_000_000_000L;

    private final CredentialsProvider provider;
    private final String store;
    private final LockRuntime runtime;
    private @Nullable CompletableFuture<Credentials> asked;
    private long askedAtNanos;

    /**
     * The source for one store.
     *
     * @param store its description for messages
     */
    public CredentialsDesk(CredentialsProvider provider, String store, LockRuntime runtime) {
        this.provider = Objects.requireNonNull(provider, "provider");
        this.store = store;
        this.runtime = runtime;
    }

    /**
     * The current credentials; fails with {@link StoreUnavailableException} if the provider fails or does not answer in time.
     * A provider that hangs is not called again before it has answered.
     */
    public CompletableFuture<Credentials> ask() {
        CompletableFuture<Credentials> answer;
        long nowNanos = runtime.nanoTime();
        synchronized (this) {
            CompletableFuture<Credentials> before = asked;
            if (before != null && !before.isDone()) {
                return within(PATIENCE_NANOS - (nowNanos - askedAtNanos), before);
            }
            answer = new CompletableFuture<>();
            asked = answer;
            askedAtNanos = nowNanos;
        }
        try {
            runtime.execute(() -> fetch(answer));
        } catch (RuntimeException | Error e) {
            answer.completeExceptionally(failed(e));
        }
        return within(PATIENCE_NANOS, answer);
    }

    private CompletableFuture<Credentials> within(long nanos, CompletableFuture<Credentials> answer) {
        if (nanos <= 0) {
            return CompletableFuture.failedFuture(late());
        }
        CompletableFuture<Credentials> waited = answer.copy();
        if (!waited.isDone()) {
            LockRuntime.Timer limit = runtime.schedule(nanos, () -> waited.completeExceptionally(late()));
            waited.whenComplete((login, error) -> limit.cancel());
        }
        return waited;
    }

    private void fetch(CompletableFuture<Credentials> answer) {
        try {
            answer.complete(Objects.requireNonNull(provider.credentials(), "the provider gave none"));
        } catch (StoreUnavailableException e) {
            answer.completeExceptionally(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            answer.completeExceptionally(failed(e));
        } catch (Exception e) {
            answer.completeExceptionally(failed(e));
        } catch (Error e) {
            answer.completeExceptionally(failed(e));
            throw e;
        }
    }

    /**
     * As {@link #ask()}, for a thread that may block.
     *
     * @throws StoreUnavailableException if the provider fails or does not answer in time
     */
    public Credentials now() {
        CompletableFuture<Credentials> answer = ask();
        try {
            runtime.await(answer);
            return answer.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw failed(e);
        } catch (CompletionException e) {
            throw e.getCause() instanceof StoreUnavailableException failure ? failure : failed(e);
        }
    }

    private StoreUnavailableException late() {
        return new StoreUnavailableException(
                "the credentials provider has not answered within " + PATIENCE_NANOS / 1_000_000_000 + " s for " + store
                        + ", and is not called again before it has; check its source",
                null);
    }

    private StoreUnavailableException failed(Throwable cause) {
        return new StoreUnavailableException(
                "the credentials provider has no credentials for " + store + " now ("
                        + cause.getClass().getName() + "); check its source",
                cause);
    }
}
