package io.leasehold.cdi;

import io.leasehold.LockClient;
import jakarta.annotation.Priority;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.context.Dependent;
import jakarta.enterprise.event.Observes;
import jakarta.enterprise.event.Startup;
import jakarta.enterprise.inject.Any;
import jakarta.enterprise.inject.Default;
import jakarta.enterprise.inject.Instance;
import jakarta.enterprise.inject.literal.NamedLiteral;
import jakarta.inject.Inject;
import jakarta.interceptor.Interceptor;
import java.lang.reflect.Method;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.stream.StreamSupport;

/**
 * The methods with {@link Locked}, each read once, at its first call at the latest.
 *
 * <p>Any thread may use it. Not final, since a container creates a proxy of it.
 */
@ApplicationScoped
class LockedMethods {

    private final ConcurrentMap<Key, MethodLocks> byMethod = new ConcurrentHashMap<>();

    @Inject
    @Any
    Instance<LockClient> clients;

    @Inject
    Instance<LockedTypes> types;

    @Inject
    Instance<Transactions> transactions;

    LockedMethods() {}

    /** A method, and the class of the bean, whose annotation may apply to it. */
    private record Key(Method method, Class<?> type) {}

    /**
     * Reads all locked methods before any call.
     *
     * @throws LockedUsageException if one of them cannot work
     */
    void check(@Observes @Priority(Interceptor.Priority.PLATFORM_BEFORE) Startup started) {
        if (types.isResolvable()) {
            LockedTypes found = types.get();
            if (!found.produced().isEmpty()) {
                throw new LockedUsageException(
                        found.produced().get(0)
                                + ", which has locked methods, and CDI does not intercept objects that a producer creates: they would run"
                                + " without the lock",
                        "Make its class a bean, or declare the producer with an interface that does not carry @Locked");
            }
            for (Class<?> type : found.types()) {
                LockedTypes.lockedMethods(type).forEach(method -> of(method, type));
            }
        }
    }

    /**
     * Finds the locks of a method.
     *
     * @throws LockedUsageException if the method cannot work, or its client does not exist
     */
    MethodLocks of(Method method, Class<?> type) {
        Key key = new Key(method, type);
        MethodLocks known = byMethod.get(key);
        if (known == null) {
            known = read(method, type);
            byMethod.put(key, known);
        }
        return known;
    }

    private MethodLocks read(Method method, Class<?> type) {
        Locked annotation = LockedTypes.of(method, type);
        if (annotation == null) {
            throw LockedUsageException.of(
                    method,
                    "is locked by an annotation that is not on its class",
                    "Write @Locked in the source, and not by an extension that changes annotations");
        }
        LockedMethod locked = LockedMethodReader.read(method, annotation);
        Transactions known = transactions.isResolvable() ? transactions.get() : Transactions.NONE;
        if (known == Transactions.NONE && LockedTypes.isTransactional(method, type)) {
            throw LockedUsageException.of(
                    method,
                    "is @Transactional, and its commit could not be checked: there is no TransactionSynchronizationRegistry,"
                            + " neither as a bean nor by its name in JNDI",
                    "Produce the one of the transaction manager");
        }
        return new MethodLocks(locked, client(locked), known);
    }

    private LockClient client(LockedMethod locked) {
        String name = locked.client();
        Instance<LockClient> found = clients.select(name.isEmpty() ? Default.Literal.INSTANCE : NamedLiteral.of(name));
        if (found.isAmbiguous()) {
            throw LockedUsageException.of(
                    locked.method(),
                    "names no client, and there are several",
                    "Write client = \"…\", or give all but one of them their own qualifier, in addition to @Named");
        }
        if (found.isUnsatisfied()) {
            throw clients.isUnsatisfied()
                    ? LockedUsageException.of(
                            locked.method(),
                            "has no client: there is no bean of type io.leasehold.LockClient",
                            "Declare one: @Produces @ApplicationScoped LockClient locks() { return"
                                    + " Leasehold.connect(\"redis://…\"); }, or add MicroProfile Config and set leasehold.uri")
                    : LockedUsageException.of(
                            locked.method(),
                            name.isEmpty()
                                    ? "names no client, and each client has its own qualifier"
                                    : "names the client \"" + name + "\", and no LockClient has that @Named value",
                            "The names are " + names());
        }
        Instance.Handle<LockClient> handle = found.getHandle();
        if (handle.getBean().getScope() == Dependent.class) {
            throw LockedUsageException.of(
                    locked.method(),
                    "has a client that is created at each use, since its producer has no scope",
                    "Write @ApplicationScoped or @Singleton on it");
        }
        return handle.get();
    }

    private String names() {
        return StreamSupport.stream(clients.handles().spliterator(), false)
                .map(handle -> handle.getBean().getName())
                .filter(Objects::nonNull)
                .sorted()
                .toList()
                .toString();
    }
}
