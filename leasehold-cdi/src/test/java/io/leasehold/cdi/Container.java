package io.leasehold.cdi;

import io.quarkus.arc.Arc;
import io.quarkus.arc.ComponentsProvider;
import io.quarkus.arc.Unremovable;
import io.quarkus.arc.processor.BeanArchives;
import io.quarkus.arc.processor.BeanInfo;
import io.quarkus.arc.processor.BeanProcessor;
import io.quarkus.arc.processor.ResourceOutput.Resource;
import io.quarkus.arc.processor.bcextensions.ExtensionsEntryPoint;
import jakarta.enterprise.event.Startup;
import jakarta.enterprise.inject.build.compatible.spi.BuildCompatibleExtension;
import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.jboss.jandex.CompositeIndex;
import org.jboss.jandex.Index;
import org.jboss.jandex.IndexView;
import org.jboss.jandex.Indexer;
import org.jboss.weld.environment.se.Weld;
import org.jboss.weld.environment.se.WeldContainer;

/** The containers in which the tests run. */
enum Container {
    /** Finds this module by its {@code beans.xml}, and creates proxies when the application starts. */
    WELD {
        @Override
        Application start(Class<?>... beans) {
            WeldContainer container = new Weld().addBeanClasses(beans).initialize();
            return new Application() {
                @Override
                public <T> T get(Class<T> type) {
                    return container.select(type).get();
                }

                @Override
                public void close() {
                    container.shutdown();
                }
            };
        }
    },
    /** The container of Quarkus: its classes are generated when the application is built. */
    ARC {
        @Override
        Application start(Class<?>... beans) throws Exception {
            return ArcApplication.start(beans);
        }
    };

    /** All, or only Weld if this run uses an older one, with whose CDI version ArC does not run. */
    static List<Container> ofThisRun() {
        return System.getProperty("expected.weld") == null ? List.of(values()) : List.of(WELD);
    }

    /** Starts an application of these beans and this module. */
    abstract Application start(Class<?>... beans) throws Exception;

    /** The refusal of an application that does not start. */
    LockedUsageException refused(Class<?>... beans) throws Exception {
        try (Application application = start(beans)) {
            throw new AssertionError("it started: " + application);
        } catch (RuntimeException e) {
            for (Throwable cause = e; cause != null; cause = cause.getCause()) {
                if (cause instanceof LockedUsageException refusal) {
                    return refusal;
                }
            }
            throw e;
        }
    }

    /** A running application. */
    interface Application extends AutoCloseable {

        <T> T get(Class<T> type);

        @Override
        void close();
    }

    /** Does what the build of a Quarkus application does with beans, as ArC's own tests do. */
    private static final class ArcApplication implements Application {

        private static final AtomicInteger NUMBER = new AtomicInteger();

        private final ClassLoader before;

        private ArcApplication(ClassLoader before) {
            this.before = before;
        }

        static Application start(Class<?>... beans) throws Exception {
            ClassLoader before = Thread.currentThread().getContextClassLoader();
            String name = "application" + NUMBER.incrementAndGet();
            Path services = Path.of("target", "arc", name).toAbsolutePath();
            process(name, services, beans);
            Thread.currentThread()
                    .setContextClassLoader(
                            new URLClassLoader(new URL[] {services.toUri().toURL()}, Container.class.getClassLoader()));
            ArcApplication application = new ArcApplication(before);
            try {
                Arc.initialize();
                Arc.container().beanManager().getEvent().select(Startup.class).fire(new Startup()); // as Quarkus does
                return application;
            } catch (RuntimeException | Error e) {
                application.close();
                throw e;
            }
        }

        private static void process(String name, Path services, Class<?>... beans) throws Exception {
            ExtensionsEntryPoint extensions =
                    new ExtensionsEntryPoint(ServiceLoader.load(BuildCompatibleExtension.class).stream()
                            .map(ServiceLoader.Provider::get)
                            .filter(extension -> extension.getClass().getName().startsWith("io.leasehold"))
                            .toList());
            IndexView index = BeanArchives.buildImmutableBeanArchiveIndex(index(beans));
            Set<String> more = new HashSet<>();
            extensions.runDiscovery(index, more);
            index = CompositeIndex.create(
                    index, Index.of(more.stream().map(ArcApplication::named).toArray(Class[]::new)));
            BeanProcessor.builder()
                    .setName(name)
                    .setImmutableBeanArchiveIndex(index)
                    .setComputingBeanArchiveIndex(BeanArchives.buildComputingBeanArchiveIndex(
                            Container.class.getClassLoader(), new ConcurrentHashMap<>(), index))
                    .setBuildCompatibleExtensions(extensions)
                    .setRemoveUnusedBeans(true)
                    .addRemovalExclusion(bean -> isKept(bean, beans))
                    .setOutput(resource -> write(resource, services))
                    .build()
                    .process();
        }

        /** Whether to keep a bean: one that the test requests, or one that Quarkus keeps, too. */
        private static boolean isKept(BeanInfo bean, Class<?>... beans) {
            return bean.getTarget()
                            .filter(one -> one.hasDeclaredAnnotation(Unremovable.class))
                            .isPresent()
                    || (bean.isClassBean()
                            && Stream.of(beans)
                                    .anyMatch(type -> type.getName()
                                            .equals(bean.getImplClazz().name().toString())));
        }

        private static Class<?> named(String type) {
            try {
                return Class.forName(type);
            } catch (ClassNotFoundException e) {
                throw new IllegalStateException(e);
            }
        }

        /** The beans, and all classes of this module, as Quarkus indexes an archive with a {@code beans.xml}. */
        private static Index index(Class<?>... beans) throws IOException {
            Indexer indexer = new Indexer();
            try (Stream<Path> files = Files.walk(Path.of("target", "classes"))) {
                for (Path file :
                        files.filter(one -> one.toString().endsWith(".class")).toList()) {
                    try (InputStream in = Files.newInputStream(file)) {
                        indexer.index(in);
                    }
                }
            }
            for (Class<?> bean : beans) {
                indexer.indexClass(bean);
                for (Class<?> beside : bean.getNestHost().getDeclaredClasses()) {
                    if (beside.isAnnotation()) {
                        indexer.indexClass(beside);
                    }
                }
            }
            return indexer.complete();
        }

        /**
         * Writes next to the classes of the tests, since a class that is generated for a bean must be in the package of
         * the bean, and of its loader.
         */
        private static void write(Resource resource, Path services) throws IOException {
            if (resource.getType() == Resource.Type.JAVA_CLASS) {
                resource.writeTo(Path.of("target", "test-classes").toFile());
            } else if (resource.getName().endsWith(ComponentsProvider.class.getName())) {
                Path file = services.resolve("META-INF/services/" + ComponentsProvider.class.getName());
                Files.createDirectories(file.getParent());
                Files.write(file, resource.getData());
            }
        }

        @Override
        public <T> T get(Class<T> type) {
            return Arc.container().select(type).get();
        }

        @Override
        public void close() {
            Arc.shutdown();
            Thread.currentThread().setContextClassLoader(before);
        }
    }
}
