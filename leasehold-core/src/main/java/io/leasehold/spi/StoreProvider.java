package io.leasehold.spi;

import java.util.Set;

/** Opens stores by URI; found by {@link java.util.ServiceLoader}. */
public interface StoreProvider {

    /** The URI schemes it opens, in lower case, without the colon. */
    Set<String> schemes();

    /**
     * Opens the store and makes sure that it answers.
     *
     * @throws IllegalArgumentException if the URI is malformed; the message hides secrets
     * @throws io.leasehold.LockStoreException if the store cannot be reached or refuses
     */
    LockStore open(StoreUri uri, LockRuntime runtime);
}
