package io.leasehold.cli.command;

import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.cli.Invocation;
import io.leasehold.cli.StoreOption;

/** Connects to the store that the command line names, and hides its secrets from then on. */
final class StoreAccess {

    private StoreAccess() {}

    static LockClient open(Invocation invocation, StoreOption store) {
        String uri = store.uri(invocation.environment());
        invocation.terminal().hide(StoreOption.secrets(uri));
        return Leasehold.connect(uri);
    }
}
