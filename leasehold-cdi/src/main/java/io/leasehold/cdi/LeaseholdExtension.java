package io.leasehold.cdi;

import io.leasehold.LockClient;
import io.leasehold.spi.method.LeaseScope;
import jakarta.enterprise.context.Initialized;
import jakarta.enterprise.inject.Default;
import jakarta.enterprise.inject.Instance;
import jakarta.enterprise.inject.build.compatible.spi.BeanInfo;
import jakarta.enterprise.inject.build.compatible.spi.BuildCompatibleExtension;
import jakarta.enterprise.inject.build.compatible.spi.Parameters;
import jakarta.enterprise.inject.build.compatible.spi.Registration;
import jakarta.enterprise.inject.build.compatible.spi.Synthesis;
import jakarta.enterprise.inject.build.compatible.spi.SyntheticBeanCreator;
import jakarta.enterprise.inject.build.compatible.spi.SyntheticBeanDisposer;
import jakarta.enterprise.inject.build.compatible.spi.SyntheticComponents;
import jakarta.enterprise.inject.build.compatible.spi.SyntheticObserver;
import jakarta.enterprise.inject.spi.EventContext;
import jakarta.enterprise.lang.model.AnnotationTarget;
import jakarta.enterprise.lang.model.declarations.ClassInfo;
import jakarta.enterprise.lang.model.types.Type;
import jakarta.inject.Singleton;
import jakarta.interceptor.Interceptor;
import jakarta.transaction.TransactionScoped;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Finds the beans with locked methods, so that they are read when the application starts; adds a client from the settings where the
 * application has none; and hears of transactions that begin. For containers, which find it as a service.
 */
public final class LeaseholdExtension implements BuildCompatibleExtension {

    private static final String TYPES = "types";
    private static final String PRODUCED = "produced";

    private final Map<String, ClassInfo> locked = new LinkedHashMap<>();
    private final List<String> produced = new ArrayList<>();
    private boolean hasClient;

    /** For containers. */
    public LeaseholdExtension() {}

    /** Is shown each bean. */
    @Registration(types = Object.class)
    public void bean(BeanInfo bean) {
        ClassInfo type = bean.isClassBean() ? bean.declaringClass() : null;
        // Weld 5 does not say of an interceptor that it is one.
        if (type != null && !type.hasAnnotation(Interceptor.class) && isLocked(type)) {
            locked.put(type.name(), type);
        }
        if (bean.isProducerMethod() || bean.isProducerField()) {
            bean.types().stream()
                    .flatMap(one -> declaration(one).stream())
                    .filter(LeaseholdExtension::isLocked)
                    .findFirst()
                    .ifPresent(made -> produced.add(producer(bean) + " makes a bean of type " + made.simpleName()));
        }
    }

    private static Optional<ClassInfo> declaration(Type type) {
        return type.isClass()
                ? Optional.of(type.asClass().declaration())
                : type.isParameterizedType()
                        ? Optional.of(type.asParameterizedType().declaration())
                        : Optional.empty();
    }

    private static String producer(BeanInfo bean) {
        return bean.declaringClass().simpleName() + "."
                + (bean.isProducerMethod()
                        ? bean.producerMethod().name()
                        : bean.producerField().name());
    }

    /** Is shown each client of the application. */
    @Registration(types = LockClient.class)
    public void client(BeanInfo bean) {
        hasClient |= bean.qualifiers().stream()
                .anyMatch(qualifier -> qualifier.name().equals(Default.class.getName()));
    }

    /** Adds what the application does not have. */
    @Synthesis
    public void add(SyntheticComponents components) {
        components
                .addBean(LockedTypes.class)
                .type(LockedTypes.class)
                .scope(Singleton.class)
                .withParam(TYPES, locked.values().toArray(ClassInfo[]::new))
                .withParam(PRODUCED, produced.toArray(String[]::new))
                .createWith(TypesCreator.class);
        if (!hasClient && Settings.PRESENT) {
            components
                    .addBean(LockClient.class)
                    .type(LockClient.class)
                    .scope(Singleton.class)
                    .createWith(ClientCreator.class)
                    .disposeWith(ClientDisposer.class);
        }
        if (Settings.isPresent("jakarta.transaction.TransactionScoped")) {
            WithTransactions.add(components);
        }
    }

    private static boolean isLocked(ClassInfo type) {
        return isLocked((AnnotationTarget) type, new HashSet<>())
                || type.methods().stream().anyMatch(method -> isLocked(method, new HashSet<>()))
                || type.superInterfacesDeclarations().stream().anyMatch(LeaseholdExtension::isLocked)
                || (type.superClassDeclaration() != null && isLocked(type.superClassDeclaration()));
    }

    private static boolean isLocked(AnnotationTarget target, Set<String> seen) {
        return target.annotations().stream()
                .anyMatch(annotation -> annotation.name().equals(Locked.class.getName())
                        || (!annotation.name().startsWith("java.")
                                && seen.add(annotation.name())
                                && isLocked(annotation.declaration(), seen)));
    }

    /** A class of its own: without Jakarta Transactions it could not even be linked. */
    private static final class WithTransactions {

        private WithTransactions() {}

        static void add(SyntheticComponents components) {
            components
                    .addBean(Transactions.class)
                    .type(Transactions.class)
                    .scope(Singleton.class)
                    .createWith(TransactionsCreator.class);
            components
                    .addObserver(Object.class)
                    .qualifier(Initialized.Literal.of(TransactionScoped.class))
                    .observeWith(BegunTransactions.class);
        }
    }

    /** Makes the list of what is read at start; for containers. */
    public static final class TypesCreator implements SyntheticBeanCreator<LockedTypes> {

        /** For containers. */
        public TypesCreator() {}

        @Override
        public LockedTypes create(Instance<Object> beans, Parameters parameters) {
            return new LockedTypes(
                    List.of(parameters.get(TYPES, Class[].class)), List.of(parameters.get(PRODUCED, String[].class)));
        }
    }

    /** Makes a client as the settings say; for containers. */
    public static final class ClientCreator implements SyntheticBeanCreator<LockClient> {

        /** For containers. */
        public ClientCreator() {}

        @Override
        public LockClient create(Instance<Object> beans, Parameters parameters) {
            return ConfiguredClient.connected(beans);
        }
    }

    /** Closes the client that the settings have made; for containers. */
    public static final class ClientDisposer implements SyntheticBeanDisposer<LockClient> {

        /** For containers. */
        public ClientDisposer() {}

        @Override
        public void dispose(LockClient client, Instance<Object> beans, Parameters parameters) {
            client.close(Settings.duration("leasehold.shutdown.await").orElse(Duration.ofSeconds(5)));
        }
    }

    /** Finds the transactions of the container; for containers. */
    public static final class TransactionsCreator implements SyntheticBeanCreator<Transactions> {

        /** For containers. */
        public TransactionsCreator() {}

        @Override
        public Transactions create(Instance<Object> beans, Parameters parameters) {
            return JtaTransactions.of(beans);
        }
    }

    /** Guards transactions that begin inside a locked body; for containers. */
    public static final class BegunTransactions implements SyntheticObserver<Object> {

        /** For containers. */
        public BegunTransactions() {}

        @Override
        public void observe(EventContext<Object> begun, Parameters parameters) {
            LeaseScope scope = LeaseScope.current();
            if (scope != null) {
                scope.guardTransaction();
            }
        }
    }
}
