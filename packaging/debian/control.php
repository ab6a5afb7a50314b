
Package: corral-php@PHP@
Architecture: any
Depends: corral (= ${binary:Version}), libphp@PHP@-embed, php@PHP@-common, ${misc:Depends}, ${shlibs:Depends}
Recommends: php@PHP@-opcache
Provides: corral-php
Description: application server: applications in PHP @PHP@
 What the daemon of the package corral runs applications in PHP @PHP@ by: classic
 scripts, and those that stay in memory. Extensions are Debian's
 (php@PHP@-mysql and so on), settings are in /etc/php/@PHP@/embed.
