package io.leasehold.checks.docs;

import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.ToolProvider;

/** A code block, compiled to a scene that can run. */
final class Compiled {

    private static final List<String> IMPORTS = List.of(
            "com.github.kagkarlsson.scheduler.Scheduler",
            "com.github.kagkarlsson.scheduler.task.helper.OneTimeTask",
            "com.github.kagkarlsson.scheduler.task.helper.Tasks",
            "io.leasehold.*",
            "io.leasehold.fencing.*",
            "io.leasehold.dbscheduler.LeaseInterceptor",
            "io.leasehold.jdbc.*",
            "io.leasehold.jedis.JedisStore",
            "io.leasehold.memory.InMemoryNode",
            "io.leasehold.micrometer.*",
            "io.leasehold.node.SingleNodeStore",
            "io.leasehold.reactor.ReactiveLocks",
            "io.leasehold.redis.*",
            "io.leasehold.servers.RedisServer",
            "io.leasehold.simulator.*",
            "io.leasehold.simulator.history.*",
            "io.leasehold.simulator.proxy.TcpProxy",
            "io.leasehold.spi.LockRuntime",
            "io.leasehold.spi.LockStore",
            "io.leasehold.spring.EnableLeasehold",
            "io.leasehold.spring.FencingToken",
            "io.leasehold.spring.LeaseholdTemplate",
            "io.leasehold.spring.Locked",
            "io.leasehold.spring.Locks",
            "io.leasehold.spring.OnBusy",
            "io.leasehold.spring.boot.test.AutoConfigureLeasehold",
            "io.leasehold.spring.boot.test.LockFaults",
            "io.leasehold.testkit.process.ChildJvm",
            "io.leasehold.testkit.tck.BackendTck",
            "io.leasehold.testkit.tck.FencingGuardTck",
            "io.leasehold.testkit.tck.StoreFixture",
            "io.leasehold.testkit.virtual.*",
            "io.lettuce.core.RedisURI",
            "io.lettuce.core.ScriptOutputType",
            "jakarta.persistence.Column",
            "jakarta.persistence.Entity",
            "jakarta.persistence.EntityManager",
            "jakarta.persistence.Id",
            "jakarta.persistence.PersistenceContext",
            "java.nio.file.Files",
            "java.nio.file.Path",
            "java.time.Duration",
            "java.util.*",
            "java.util.concurrent.*",
            "java.util.concurrent.locks.ReadWriteLock",
            "org.hibernate.Session",
            "org.junit.jupiter.api.Test",
            "org.springframework.beans.factory.annotation.Autowired",
            "org.springframework.boot.test.context.SpringBootTest",
            "org.springframework.context.annotation.Bean",
            "org.springframework.context.annotation.Configuration",
            "org.springframework.scheduling.annotation.Scheduled",
            "org.springframework.stereotype.Service",
            "org.springframework.transaction.annotation.Transactional",
            "reactor.core.publisher.Mono",
            "redis.clients.jedis.RedisClient",
            "static org.junit.jupiter.api.Assertions.*");

    /** In a document about CDI, names that Spring also has are those of CDI and Jakarta. */
    private static final List<String> IMPORTS_OF_CDI = Stream.concat(
                    IMPORTS.stream()
                            .filter(name -> !name.startsWith("io.leasehold.spring.")
                                    && !name.startsWith("org.springframework.")),
                    Stream.of(
                            "io.leasehold.cdi.FencingToken",
                            "io.leasehold.cdi.LockKey",
                            "io.leasehold.cdi.Locked",
                            "io.leasehold.cdi.Locks",
                            "io.leasehold.cdi.OnBusy",
                            "jakarta.enterprise.context.ApplicationScoped",
                            "jakarta.enterprise.inject.Disposes",
                            "jakarta.enterprise.inject.Produces",
                            "jakarta.inject.Inject",
                            "jakarta.transaction.Transactional"))
            .toList();

    private Compiled() {}

    /** Compiles a block, with some of its texts replaced by values of this test. */
    static Scene of(CodeBlock block, String text, Path directory) {
        StringBuilder source = new StringBuilder("package io.leasehold.checks.docs;\n");
        List<String> imports = block.document().equals("docs/cdi.md") ? IMPORTS_OF_CDI : IMPORTS;
        imports.forEach(name -> source.append("import ").append(name).append(";\n"));
        source.append("public final class Block extends Scene {\n  public Block() throws Exception {}\n")
                .append("  @Override public void run() throws Exception {\n")
                .append(text)
                .append("\n  }\n}\n");
        try {
            Path classes = Files.createTempDirectory(directory, "block");
            Path file = Files.writeString(classes.resolve("Block.java"), source);
            JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
            StringWriter messages = new StringWriter();
            boolean done = compiler.getTask(
                            messages,
                            null,
                            null,
                            List.of(
                                    "-proc:none",
                                    "-classpath",
                                    System.getProperty("java.class.path"),
                                    "-d",
                                    classes.toString()),
                            null,
                            compiler.getStandardFileManager(null, null, null).getJavaFileObjects(file))
                    .call();
            if (!done) {
                throw new AssertionError(block.place() + " does not compile:\n" + messages);
            }
            URLClassLoader loader =
                    new URLClassLoader(new URL[] {classes.toUri().toURL()}, Compiled.class.getClassLoader());
            return (Scene) loader.loadClass("io.leasehold.checks.docs.Block")
                    .getConstructor()
                    .newInstance();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (ReflectiveOperationException e) {
            throw new LinkageError(block.place() + " cannot be begun", e);
        }
    }
}
