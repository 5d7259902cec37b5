package io.leasehold.spi;

import io.leasehold.Credentials;
import io.leasehold.CredentialsProvider;
import io.leasehold.StoreUnavailableException;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Where a store gets its credentials: asks a {@link CredentialsProvider} on a thread for callbacks, once at a time, for all that
 * want them meanwhile. Safe for use by any thread.
 */
public final class CredentialsDesk {

    /** An answer that has not come by then is not waited for by those who ask later. */
    private static final long PATIENCE_NANOS = 10_000_000_000L;

    private final CredentialsProvider provider;
    private final String store;
    private final LockRuntime runtime;
    private @Nullable CompletableFuture<Credentials> asked;
    private long askedAtNanos;

    /**
     * A desk for one store.
     *
     * @param store as people would name it
     */
    public CredentialsDesk(CredentialsProvider provider, String store, LockRuntime runtime) {
        this.provider = Objects.requireNonNull(provider, "provider");
        this.store = store;
        this.runtime = runtime;
    }

    /** The credentials now; fails with {@link StoreUnavailableException} where the provider does. */
    public CompletableFuture<Credentials> ask() {
        CompletableFuture<Credentials> answer;
        synchronized (this) {
            CompletableFuture<Credentials> before = asked;
            if (before != null && !before.isDone() && runtime.nanoTime() - askedAtNanos < PATIENCE_NANOS) {
                return before.copy();
            }
            answer = new CompletableFuture<>();
            asked = answer;
            askedAtNanos = runtime.nanoTime();
        }
        try {
            runtime.execute(() -> fetch(answer));
        } catch (RuntimeException e) {
            answer.completeExceptionally(failed(e));
        }
        return answer.copy();
    }

    private void fetch(CompletableFuture<Credentials> answer) {
        try {
            answer.complete(now());
        } catch (StoreUnavailableException e) {
            answer.completeExceptionally(e);
        } catch (Error e) {
            answer.completeExceptionally(failed(e));
            throw e;
        }
    }

    /**
     * The same on the thread that calls, which may have to wait.
     *
     * @throws StoreUnavailableException where the provider fails
     */
    public Credentials now() {
        try {
            Credentials given = provider.credentials();
            if (given == null) {
                throw new NullPointerException("the provider gave none");
            }
            return given;
        } catch (StoreUnavailableException e) {
            throw e;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw failed(e);
        } catch (Exception e) {
            throw failed(e);
        }
    }

    private StoreUnavailableException failed(Throwable cause) {
        return new StoreUnavailableException(
                "the credentials provider has no credentials for " + store + " now ("
                        + cause.getClass().getName() + "); look at what it asks",
                cause);
    }
}
