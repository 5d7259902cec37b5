package io.leasehold.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.leasehold.DistributedLock;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import javax.tools.ToolProvider;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.aop.config.AopConfigUtils;
import org.springframework.aop.support.DefaultPointcutAdvisor;
import org.springframework.aop.support.NameMatchMethodPointcut;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.ImportBeanDefinitionRegistrar;
import org.springframework.context.annotation.Role;
import org.springframework.core.type.AnnotationMetadata;

/**
 * Measures the figures in docs/spring.md that are not a guarantee, and prints them with {@code
 * -Dleasehold.figures=true}.
 */
@Tag("full")
class FiguresTest {

    private static final Logger LOG = LoggerFactory.getLogger(FiguresTest.class);
    private static final int CALLS = 100_000;
    private static final int ROUNDS = 9;
    private static final int BEANS = 200;
    private static final int STARTS = 15;

    @TempDir
    private Path scratch;

    @BeforeEach
    void onlyWhereAskedFor() {
        assumeThat(Boolean.getBoolean("leasehold.figures"))
                .as("-Dleasehold.figures=true")
                .isTrue();
    }

    static class Orders {
        private int calls;

        int calls() {
            return calls;
        }

        @Locked(name = "figure", maxWait = "1m")
        public void constant() {
            calls++;
        }

        @Locked(name = "figure:{}", key = "#id", maxWait = "1m")
        public void keyed(String id) {
            calls++;
        }
    }

    private interface Call {
        void run() throws InterruptedException;
    }

    private record Cost(long nanos, long bytes) {}

    /** The quietest round counts. */
    private static Cost costOf(Call call) throws InterruptedException {
        com.sun.management.ThreadMXBean threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        long nanos = Long.MAX_VALUE;
        long bytes = Long.MAX_VALUE;
        for (int round = 0; round < ROUNDS; round++) {
            long bytesBefore = threads.getCurrentThreadAllocatedBytes();
            long began = System.nanoTime();
            for (int i = 0; i < CALLS; i++) {
                call.run();
            }
            nanos = Math.min(nanos, (System.nanoTime() - began) / CALLS);
            bytes = Math.min(bytes, (threads.getCurrentThreadAllocatedBytes() - bytesBefore) / CALLS);
        }
        return new Cost(nanos, bytes);
    }

    @Test
    void overheadOfACall() throws InterruptedException {
        try (AnnotationConfigApplicationContext application = Application.of(MemoryLocks.class, Orders.class)) {
            DistributedLock lock = application.getBean(LockClient.class).named("figure");
            Orders orders = application.getBean(Orders.class);
            Cost bare = costOf(() -> {
                try (Lease lease = lock.acquire()) {
                    assert lease != null;
                }
            });
            Cost constant = costOf(orders::constant);
            Cost keyed = costOf(() -> orders.keyed("1001"));
            LOG.info("lock.acquire() and close(): {} ns, {} bytes", bare.nanos, bare.bytes);
            LOG.info(
                    "more with a constant name: {} ns, {} bytes",
                    constant.nanos - bare.nanos,
                    constant.bytes - bare.bytes);
            LOG.info("more with a key: {} ns, {} bytes", keyed.nanos - bare.nanos, keyed.bytes - bare.bytes);
            assertThat(constant.bytes - bare.bytes).isLessThanOrEqualTo(1000);
        }
    }

    /**
     * Compared with beans without a proxy, and with beans that have proxies for another purpose, such as transactions.
     */
    @Test
    void startWithManyBeans() throws Exception {
        List<String> names = compiledBeans();
        List<Long> plain = new ArrayList<>();
        List<Long> proxied = new ArrayList<>();
        List<Long> locked = new ArrayList<>();
        List<Long> more = new ArrayList<>();
        for (int round = 0; round < STARTS; round++) {
            plain.add(startMillis(names));
            proxied.add(startMillis(names, OtherProxies.class));
            locked.add(startMillis(names, OtherProxies.class, WithLocks.class));
            more.add(locked.get(round) - proxied.get(round));
        }
        LOG.info(
                "start with {} beans, in ms of processor time, medians of {}: {}; with proxies {}; with proxies and locks {}; locks"
                        + " take {} more than the start before without them",
                BEANS,
                STARTS,
                median(plain),
                median(proxied),
                median(locked),
                median(more));
    }

    private static long median(List<Long> values) {
        return values.stream().sorted().toList().get(values.size() / 2);
    }

    private List<String> compiledBeans() throws IOException {
        List<String> names = new ArrayList<>();
        List<String> command = new ArrayList<>(List.of(
                "-proc:none", "-parameters", "-cp", System.getProperty("java.class.path"), "-d", scratch.toString()));
        for (int i = 0; i < BEANS; i++) {
            names.add("beans.Bean" + i);
            command.add(Files.writeString(
                            scratch.resolve("Bean" + i + ".java"),
                            ("package beans; public class Bean%d { @io.leasehold.spring.Locked(name = \"bean%d:{}\", key = \"#id\", maxWait ="
                                            + " \"1s\") public String run(String id) { return id; } public void other() {} }")
                                    .formatted(i, i))
                    .toString());
        }
        assertThat(ToolProvider.getSystemJavaCompiler().run(null, null, null, command.toArray(String[]::new)))
                .isZero();
        return names;
    }

    /** The classes are new to each start. */
    private long startMillis(List<String> names, Class<?>... configurations) throws Exception {
        try (URLClassLoader loader = new URLClassLoader(
                        new URL[] {scratch.toUri().toURL()}, getClass().getClassLoader());
                LockClient client = Leasehold.connect("memory:")) {
            Class<?>[] beans = new Class<?>[names.size()];
            for (int i = 0; i < beans.length; i++) {
                beans[i] = loader.loadClass(names.get(i));
            }
            ThreadMXBean threads = ManagementFactory.getThreadMXBean();
            long began = threads.getCurrentThreadCpuTime();
            try (AnnotationConfigApplicationContext application = new AnnotationConfigApplicationContext()) {
                application.setClassLoader(loader);
                application.registerBean(LockClient.class, () -> client);
                if (configurations.length > 0) {
                    application.register(configurations);
                }
                Arrays.stream(beans).forEach(application::register);
                application.refresh();
                return (threads.getCurrentThreadCpuTime() - began) / 1_000_000;
            }
        }
    }

    @EnableLeasehold
    static class WithLocks {}

    @Configuration(proxyBeanMethods = false)
    @Import(OtherProxies.Creator.class)
    static class OtherProxies {

        static class Creator implements ImportBeanDefinitionRegistrar {
            @Override
            public void registerBeanDefinitions(AnnotationMetadata importing, BeanDefinitionRegistry registry) {
                AopConfigUtils.registerAutoProxyCreatorIfNecessary(registry);
            }
        }

        @Bean
        @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
        static DefaultPointcutAdvisor around() {
            NameMatchMethodPointcut runs = new NameMatchMethodPointcut();
            runs.setMappedName("run");
            return new DefaultPointcutAdvisor(runs, (MethodInterceptor) MethodInvocation::proceed);
        }
    }
}
